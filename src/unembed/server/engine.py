"""Batches of requests through the model: one encoding, one inversion for all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.decode.result import Inversion
from unembed.errors import UnembedError
from unembed.invert_config import InversionOptions, InvertConfig
from unembed.inverter import Inverter
from unembed.metrics.accuracy import token_hits
from unembed.metrics.cosine import cosines
from unembed.metrics.f1 import token_f1
from unembed.server.events import JobObserver
from unembed.server.pieces import Pieces
from unembed.server.problems import without_paths
from unembed.server.queue import Job
from unembed.server.schemas import Alternative, Comparison, InvertRequest, Recovered
from unembed.text import tokenise
from unembed.vectors.plausibility import PlausibilityCheck

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Inverted:
    """The answer to an inversion job."""

    results: list[Recovered]
    warning: str | None
    seconds: float


class Engine:
    """One model, its encoder if that can be loaded, and what batches of requests ask of them."""

    def __init__(self, inverter: Inverter, *, max_batch: int) -> None:
        self.inverter = inverter
        self._pieces = Pieces(inverter.checkpoint)
        self._max_batch = max_batch
        self.encoder_error: UnembedError | None = None  # why the encoder cannot be used
        try:
            inverter.encode(["Warm up."])
        except UnembedError as error:
            self.encoder_error = error

    @property
    def can_encode(self) -> bool:
        """Whether the model's own encoder is here."""
        return self.encoder_error is None

    @property
    def encoder_problem(self) -> str | None:
        """Why it is not, for clients."""
        return None if self.encoder_error is None else without_paths(self.encoder_error.message)

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
        results = self._invert(jobs, vectors)
        self._compare(jobs, results, vectors)
        seconds, start = time.perf_counter() - began, 0
        for job in jobs:
            end = start + job.size
            warning = self._warning(vectors[start:end])
            own = [one.model_copy(update={"index": index}) for index, one in enumerate(results[start:end])]
            job.finish(Inverted(own, warning, seconds))
            start = end

    def _invert(self, jobs: Sequence[Job], vectors: Floats) -> list[Recovered]:
        requests: list[InvertRequest] = [job.work for job in jobs]
        lengths = tuple(length for request in requests for length in request.lengths or ())
        config = InvertConfig(
            **requests[0].model_dump(include=set(InversionOptions.model_fields)),
            lengths=lengths or None,
            batch_size=self._max_batch,
            check=False,  # each job is warned of its own vectors
        )
        found = self.inverter.invert(vectors, config, observe=JobObserver(jobs, self._pieces))
        return [self._recovered(row, one) for row, one in enumerate(found)]

    def _vectors(self, request: InvertRequest) -> Floats:  # [n, D]
        if request.texts is not None:
            return self.inverter.encode(request.texts)
        return np.asarray(request.vectors, dtype=np.float32)

    def _recovered(self, row: int, one: Inversion) -> Recovered:
        return Recovered(
            index=row,
            text=one.text,
            pieces=self._pieces.read(one.tokens, one.log_probs),
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
        """Compare with the originals, and fill in the cosines of requests that want them."""
        row = 0
        rows: list[int] = []  # whose cosine is wanted
        targets: dict[int, str] = {}
        for job in jobs:
            request: InvertRequest = job.work
            originals = request.originals or request.texts
            for index in range(job.size):
                if originals is not None:
                    targets[row] = originals[index]
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
        for row, vector in zip(known, encoded[len(rows) :], strict=True):
            target[rows.index(row)] = vector
        for row, value in zip(rows, cosines(target, encoded[: len(rows)]).tolist(), strict=True):
            results[row].cosine = round(value, 4)

    def _warning(self, vectors: Floats) -> str | None:
        return PlausibilityCheck(self.inverter.checkpoint)(vectors)


def _comparison(original: Sequence[int], recovered: Sequence[int]) -> Comparison:
    hits, positions = token_hits(original, recovered)
    return Comparison(
        token_accuracy=round(hits / positions, 4) if positions else 1.0,
        token_f1=round(token_f1(original, recovered), 4),
        exact=list(original) == list(recovered),
    )
