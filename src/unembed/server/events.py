"""Server-sent events: the steps of an inversion, for the clients that watch it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from unembed.decode.observer import Update
from unembed.server.pieces import Pieces
from unembed.server.queue import Job
from unembed.server.schemas import SearchEvent, StepEvent

STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HEARTBEAT = b": still here\n\n"  # a comment: keeps idle connections open, and finds those that are gone


def event(name: str, data: dict[str, Any]) -> bytes:
    """One event; JSON has no raw line breaks, so one data line is enough."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n".encode()


class JobObserver:
    """An observer of the inversion that a batch of jobs shares; it ends the work of clients that left."""

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
            found = SearchEvent(
                index=index,
                round=update.step,
                encoder_calls=search.encoder_calls,
                max_encoder_calls=search.max_encoder_calls,
                cosine=round(search.cosine, 6),
                text=search.text,
                pieces=pieces,
            )
            job.tell("search", found.model_dump())
