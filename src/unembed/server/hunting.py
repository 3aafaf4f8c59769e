"""A guided search, told to those who watch it; who leaves stops costing after the round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unembed.decode.result import Inversion
from unembed.search.search_state import SearchState
from unembed.server.pieces import Pieces
from unembed.server.queue import Job
from unembed.server.schemas import Piece, SearchEvent


class HuntWatch:
    """An observer of the hunts of a batch of jobs."""

    def __init__(self, jobs: Sequence[Job], pieces: Pieces) -> None:
        self._owner = [(job, place) for job in jobs for place in range(job.size)]  # by row
        self._pieces = pieces
        self._rows: dict[int, int] = {}  # by the hunt's id: its row
        self._round = 0

    def __call__(self, hunts: Sequence[SearchState]) -> list[bool]:
        """Which of them somebody still waits for."""
        if not self._rows:  # all of them, in the order of the vectors
            self._rows = {id(hunt): row for row, hunt in enumerate(hunts)}
        going = []
        for hunt in hunts:
            job, index = self._owner[self._rows[id(hunt)]]
            if job.watched and hunt.best is not None:
                event = SearchEvent(
                    index=index,
                    round=self._round,
                    encoder_calls=hunt.calls,
                    max_encoder_calls=hunt.settings.max_encoder_calls,
                    cosine=round(hunt.best.cosine, 6),
                    text=hunt.best.text,
                    pieces=self._pieces.entries(hunt.best.entries),
                )
                job.tell("search", event.model_dump())
            going.append(not job.gone)
        self._round += 1
        return going

    def final(self, row: int, one: Inversion) -> list[Piece]:
        """The found text's tokens; a search has no confidence of its own in each."""
        return self._pieces.tokens(np.array(one.tokens, dtype=np.int64))
