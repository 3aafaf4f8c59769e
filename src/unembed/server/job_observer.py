"""The steps of an inversion, told to those who watch it; the work of those who left stops."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.decode.observer import Update
from unembed.server.pieces import Pieces
from unembed.server.queue import Job
from unembed.server.schemas import SearchEvent, StepEvent


class JobObserver:
    """An observer of the inversion that a batch of jobs shares."""

    def __init__(self, jobs: Sequence[Job], pieces: Pieces) -> None:
        self._owner = [(job, index) for job in jobs for index in range(job.size)]  # by row
        self._jobs = jobs
        self._pieces = pieces

    def __call__(self, updates: Sequence[Update]) -> list[bool] | None:
        """Which of the vectors somebody still waits for."""
        for update in updates:
            job, index = self._owner[update.row]
            if job.watched and not job.gone:
                self._tell(job, index, update)
        if not any(job.gone for job in self._jobs):
            return None
        return [not self._owner[update.row][0].gone for update in updates]

    def _tell(self, job: Job, index: int, update: Update) -> None:
        pieces = self._pieces.read(update.tokens, update.log_probs)
        search = update.search
        if search is None:
            step = StepEvent(
                index=index,
                length=update.length,
                step=update.step,
                steps=update.steps or update.step,
                pieces=pieces,
            )
            job.tell("step", step.model_dump())
        elif search.text:
            event = SearchEvent(
                index=index,
                round=update.step,
                encoder_calls=search.encoder_calls,
                max_encoder_calls=search.max_encoder_calls,
                cosine=round(search.cosine, 6),
                text=search.text,
                pieces=pieces,
            )
            job.tell("search", event.model_dump())
