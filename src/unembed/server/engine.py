"""Batches of requests through the model: one encoding, one inversion for all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.base import Decoder
from unembed.decode.denoising_loop import Step
from unembed.decode.invert_batch import Settings, invert_batch
from unembed.decode.registry import DEFAULT, make_decoder
from unembed.decode.result import Inversion
from unembed.errors import UnembedError
from unembed.inverter import Inverter
from unembed.metrics.accuracy import token_hits
from unembed.metrics.cosine import cosines
from unembed.metrics.f1 import token_f1
from unembed.search.strategies import Guided, make_strategy
from unembed.search.window import search_window
from unembed.server.hunting import HuntWatch
from unembed.server.pieces import Pieces
from unembed.server.queue import Job
from unembed.server.schemas import Alternative, Comparison, InvertRequest, Piece, Recovered, StepEvent
from unembed.text import tokenise
from unembed.vectors.plausibility import PlausibilityCheck

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Inverted:
    """What an inversion job is answered with."""

    results: list[Recovered]
    warning: str | None
    seconds: float


class Engine:
    """One model, its encoder where it can be had, and what batches of requests ask of them."""

    def __init__(self, inverter: Inverter, *, max_batch: int) -> None:
        self.inverter = inverter
        self._pieces = Pieces(inverter.checkpoint)
        self._max_batch = max_batch
        try:
            inverter.encode(["Warm up."])
            self.can_encode = True
        except UnembedError:
            self.can_encode = False

    def encode(self, jobs: Sequence[Job]) -> None:
        """Jobs whose work is a list of texts, answered with (vectors [n, D], token counts, seconds)."""
        began = time.perf_counter()
        texts = [text for job in jobs for text in job.work]
        vectors = self.inverter.encode(texts)  # [N, D]
        counts = [len(ids) for ids in tokenise(self.inverter.checkpoint.tokenizer, texts)]
        seconds, start = time.perf_counter() - began, 0
        for job in jobs:
            end = start + job.size
            job.finish((vectors[start:end], counts[start:end], seconds))
            start = end

    def invert(self, jobs: Sequence[Job]) -> None:
        """Jobs whose work is an `InvertRequest`, all with the same settings."""
        jobs = [job for job in jobs if not job.gone]
        if not jobs:
            return
        began = time.perf_counter()
        requests: list[InvertRequest] = [job.work for job in jobs]
        vectors = np.concatenate([self._vectors(request) for request in requests])  # [N, D]
        lengths = [length for request in requests for length in request.lengths or ()]
        results = self._read(jobs, vectors, torch.tensor(lengths) if lengths else None)
        self._compare(jobs, results, vectors)
        seconds, start = time.perf_counter() - began, 0
        for job in jobs:
            end = start + job.size
            warning = self._warning(vectors[start:end])
            own = [one.model_copy(update={"index": place}) for place, one in enumerate(results[start:end])]
            job.finish(Inverted(own, warning, seconds))
            start = end

    def _read(self, jobs: Sequence[Job], vectors: Floats, lengths: Tensor | None) -> list[Recovered]:
        request: InvertRequest = jobs[0].work
        checkpoint = self.inverter.checkpoint
        strategy = make_strategy(request.strategy, **request.options)
        if isinstance(strategy, Guided):
            settings = self._settings(request, make_decoder(DEFAULT))
            watch = HuntWatch(jobs, self._pieces)
            search = self.inverter.search(strategy, observe=watch)
            found = search_window(checkpoint, vectors, lengths, settings, search)
            return [self._recovered(row, one, watch.final(row, one)) for row, one in enumerate(found)]
        steps = _Watch(jobs, self._pieces)
        found = invert_batch(checkpoint, vectors, lengths, self._settings(request, strategy), steps)
        return [self._recovered(row, one, steps.final(row, one)) for row, one in enumerate(found)]

    def _settings(self, request: InvertRequest, decoder: Decoder) -> Settings:
        return Settings(
            decoder=decoder,
            steps=request.steps,
            n_best=request.n_best,
            seed=request.seed,
            candidates=request.candidates,
            guidance=request.guidance,
            batch=self._max_batch,
        )

    def _vectors(self, request: InvertRequest) -> Floats:  # [n, D]
        if request.texts is not None:
            return self.inverter.encode(request.texts)
        return np.asarray(request.vectors, dtype=np.float32)

    def _recovered(self, row: int, one: Inversion, pieces: list[Piece]) -> Recovered:
        return Recovered(
            index=row,
            text=one.text,
            pieces=pieces,
            tokens=list(one.tokens),
            score=max(one.score, -1e9),
            forward_passes=one.forward_passes,
            length_known=one.length_known,
            alternatives=[
                Alternative(text=other.text, score=max(other.score, -1e9)) for other in one.alternatives
            ],
            cosine=None if one.cosine is None else round(one.cosine, 4),
            encoder_calls=one.encoder_calls,
        )

    def _compare(self, jobs: Sequence[Job], results: list[Recovered], vectors: Floats) -> None:
        """Fill in how near the recovered texts come, for the requests that want it."""
        row = 0
        rows: list[int] = []  # of those whose cosine is wanted
        targets: dict[int, str] = {}
        for job in jobs:
            request: InvertRequest = job.work
            originals = request.originals or request.texts
            for place in range(job.size):
                if originals is not None:
                    targets[row] = originals[place]
                if request.cosine and self.can_encode and not job.gone:
                    rows.append(row)
                row += 1
        originals_ids = tokenise(self.inverter.checkpoint.tokenizer, list(targets.values()))
        for row, ids in zip(targets, originals_ids, strict=True):
            results[row].comparison = _comparison(ids, results[row].tokens)
        if not rows:
            return
        known = [row for row in rows if row in targets]
        texts = [results[row].text for row in rows] + [targets[row] for row in known]
        encoded = self.inverter.encode(texts)  # [n + k, D]
        target = vectors[rows].copy()  # [n, D]
        for place, vector in zip(known, encoded[len(rows) :], strict=True):
            target[rows.index(place)] = vector
        for row, value in zip(rows, cosines(target, encoded[: len(rows)]).tolist(), strict=True):
            results[row].cosine = round(value, 4)

    def _warning(self, vectors: Floats) -> str | None:
        return PlausibilityCheck(self.inverter.checkpoint)(vectors)


class _Watch:
    """Passes steps on to those who watch, stops the work of those who left, remembers the last of each."""

    def __init__(self, jobs: Sequence[Job], pieces: Pieces) -> None:
        self._owner = [(job, place) for job in jobs for place in range(job.size)]  # by row
        self._jobs = jobs
        self._pieces = pieces
        # By row, then by length: where it was seen last.
        self._last: list[dict[int, tuple[Step, int]]] = [{} for _ in self._owner]

    def __call__(self, step: Step) -> Tensor | None:
        rows: list[int] = step.rows.tolist()
        length = step.tokens.shape[1]
        for place, row in enumerate(rows):
            self._last[row][length] = (step, place)
            job, index = self._owner[row]
            if job.watched and not job.gone:
                event = StepEvent(
                    index=index,
                    length=length,
                    step=step.number,
                    steps=step.steps,
                    pieces=self._read(step, place),
                )
                job.tell("step", event.model_dump())
        if not any(job.gone for job in self._jobs):
            return None
        return torch.tensor([not self._owner[row][0].gone for row in rows])

    def final(self, row: int, one: Inversion) -> list[Piece]:
        """The recovered tokens with the confidence that each was revealed with."""
        texts = [self._pieces.piece(token)[0] for token in one.tokens]
        for step, place in self._last[row].values():
            pieces = self._read(step, place)
            if [piece.text for piece in pieces] == texts:
                return pieces
        return []

    def _read(self, step: Step, place: int) -> list[Piece]:
        return self._pieces.entries(step.tokens[place].tolist(), step.log_prob[place].tolist())


def _comparison(original: Sequence[int], recovered: Sequence[int]) -> Comparison:
    hits, positions = token_hits(original, recovered)
    return Comparison(
        token_accuracy=round(hits / positions, 4) if positions else 1.0,
        token_f1=round(token_f1(original, recovered), 4),
        exact=list(original) == list(recovered),
    )
