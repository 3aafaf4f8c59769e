"""The attackers: what each has, what keeps him out, and how he reads a vector.

Each is a thin layer over `Inverter`: a way to call it. Who is not possible here is a result with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unembed.adaptation.fit_adapter import fit_adapter
from unembed.adaptation.pairs import LEAST, LEAST_TOKENS, Pairs
from unembed.audit.case import Case
from unembed.decode.result import Inversion
from unembed.encoders.base import EncoderInfo
from unembed.encoders.registry import find_entry
from unembed.errors import UnembedError
from unembed.invert_config import InvertConfig
from unembed.inverter import WINDOW, Inverter
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.progress import Progress
from unembed.storage import digest_json
from unembed.stores.base import Row

BATCH = 16
GUIDED_BATCH = 8  # fewer lose less at Ctrl-C, more fill the passes


class Attacker(Protocol):
    """Somebody who has the vectors, and perhaps more."""

    name: str
    title: str
    has: str
    at_once: int  # rows between two saves

    def obstacle(self, case: Case) -> str | None:
        """Why he is not possible here; None: he is."""

    def targets(self, case: Case) -> list[int]:
        """The rows that he attacks."""

    def options(self, case: Case) -> InvertConfig | None:
        """How he calls the audit's own model, which anybody could do for him; None: he has one of his own."""

    def recover(self, case: Case, vectors: NDArray[np.float32], progress: Progress) -> list[Inversion]:
        """What he reads out of vectors [n, D]."""


class _WithModel:
    """What those share who have a model of the encoder."""

    at_once = WINDOW * BATCH
    how: InvertConfig = InvertConfig()

    def obstacle(self, case: Case) -> str | None:
        return case.chosen.reason

    def targets(self, case: Case) -> list[int]:
        return list(range(len(case.targets)))

    def options(self, case: Case) -> InvertConfig:
        return _options(self.how, case)

    def recover(self, case: Case, vectors: NDArray[np.float32], progress: Progress) -> list[Inversion]:
        assert case.chosen.inverter is not None
        return _invert(case.chosen.inverter, vectors, self.options(case), progress)


class VectorsOnly(_WithModel):
    """The least that an attacker has: somebody copied the vectors."""

    name = "vectors"
    title = "Has the vectors"
    has = "the vectors, and a public model that inverts this encoder; never calls the encoder"
    how = InvertConfig(ranking="score", batch_size=BATCH)


class WithSurrogate(_WithModel):
    """The same, who lets a small stand-in of the encoder choose among more guesses."""

    name = "surrogate"
    title = "Has the vectors and a surrogate"
    has = "the vectors, the model, and a small stand-in for the encoder that ranks the guesses"
    how = InvertConfig(ranking="surrogate", steps=16, num_lengths=5, hypotheses=5, batch_size=BATCH)

    def obstacle(self, case: Case) -> str | None:
        if case.chosen.reason is not None or case.chosen.inverter is None:
            return case.chosen.reason
        if not case.chosen.inverter.has_surrogate:
            return "The model came without a surrogate. Train one: unembed surrogate --model MODEL"
        return None


class WithEncoder(_WithModel):
    """Who can call the encoder checks every guess: a public model, or an endpoint with a key."""

    name = "encoder"
    title = "Has the vectors and the encoder"
    has = "the vectors, the model, and the encoder itself, called to check every guess"
    at_once = GUIDED_BATCH

    def obstacle(self, case: Case) -> str | None:
        chosen = case.chosen
        if chosen.reason is not None or chosen.inverter is None:
            return chosen.reason
        if chosen.encoder is not None:
            return None
        name = chosen.inverter.checkpoint.config.encoder.name
        try:
            entry = find_entry(name)
        except UnembedError as error:
            return error.message
        if entry.kind == "api":
            return "Every guess would be sent to a paid endpoint. Allow it with --attackers encoder."
        return f"The encoder is not on this machine ({entry.where})."

    def targets(self, case: Case) -> list[int]:
        return [*case.usual[: case.config.guided_samples], *case.canaries]

    def options(self, case: Case) -> InvertConfig:
        options = {"max_encoder_calls": case.config.calls, "keep_on_interrupt": False}
        how = InvertConfig(strategy="guided", options=options, batch_size=GUIDED_BATCH)
        return _options(how, case)


class WithPairs:
    """Who knows some of the texts of this very store needs neither the encoder nor its name."""

    name = "pairs"
    title = "Has the vectors and some texts"
    has = "the vectors, and {pairs} texts of the same store with their vectors; need not know the encoder"
    at_once = WINDOW * BATCH
    how = InvertConfig(batch_size=BATCH)

    def __init__(self) -> None:
        self._adapted: Inverter | None = None

    def obstacle(self, case: Case) -> str | None:
        if not case.with_texts:
            return "The store has no texts to fit an adapter on."
        known = len(_pairs(case))
        if known < LEAST:
            return (
                f"The store has {known} further texts of {LEAST_TOKENS} to {case.chosen.base.max_length} "
                f"tokens; an adapter needs {LEAST}."
            )
        if isinstance(case.chosen.base.checkpoint, AdaptedCheckpoint):
            return "The model is an adapter itself; only the model that it was made of can be adapted."
        try:
            _ = case.chosen.base.encoder  # embeds the same texts, to fit the map
        except UnembedError as error:
            return error.message
        return None

    def targets(self, case: Case) -> list[int]:
        return list(range(len(case.targets)))

    def options(self, case: Case) -> None:
        return None

    def recover(self, case: Case, vectors: NDArray[np.float32], progress: Progress) -> list[Inversion]:
        if self._adapted is None:
            progress.describe("pairs: fitting an adapter")
            self._adapted = self._fit(case)
        return _invert(self._adapted, vectors, _options(self.how, case), progress)

    @staticmethod
    def _fit(case: Case) -> Inverter:
        rows = _pairs(case)
        texts = [row.text or "" for row in rows]
        vectors = np.stack([row.vector for row in rows])
        base = case.chosen.base
        unit = bool(np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3))
        info = EncoderInfo(
            name=case.chosen.finding.name or "unknown", dimension=vectors.shape[1], pooling="unknown",
            max_tokens=None, licence="unknown", normalised=unit,
            source="pairs of the audited store", digest=digest_json(texts),
        )  # fmt: skip
        pairs = Pairs(texts, vectors, info.digest)
        config, weights = fit_adapter(base.checkpoint, base.encoder, pairs, info)
        return Inverter(AdaptedCheckpoint(base.checkpoint, config, weights), base_encoder=base.encoder)


def _pairs(case: Case) -> list[Row]:
    """The rows that an adapter can be fitted on; none of them is attacked."""
    texts = [row for row in case.others if row.text and row.text.strip()]
    lengths = [len(ids) for ids in case.tokens([row.text or "" for row in texts])]
    fitting = [
        row
        for row, length in zip(texts, lengths, strict=True)
        if LEAST_TOKENS <= length <= case.chosen.base.max_length
    ]
    return fitting[: case.config.pairs]


def _options(how: InvertConfig, case: Case) -> InvertConfig:
    return InvertConfig.of(how, {"seed": case.config.seed, "check": False, "bad_vectors": "record"})


def _invert(
    inverter: Inverter, vectors: NDArray[np.float32], config: InvertConfig, progress: Progress
) -> list[Inversion]:
    found = []
    for one in inverter.stream(vectors, config):
        found.append(one)
        progress.advance()
    return found


def make_attackers(names: Sequence[str]) -> list[Attacker]:
    """The attackers of these names, the weakest first."""
    every: tuple[Attacker, ...] = (VectorsOnly(), WithSurrogate(), WithEncoder(), WithPairs())
    return [one for one in every if one.name in names]
