"""What the attackers share: the model, what it makes of the texts that they know, and adapters fitted on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.adaptation.fit_adapter import fit_on_features
from unembed.adaptation.text_features import TextFeatures, text_features
from unembed.adaptation.tuned_map import LEAST_PAIRS, MOST_ASIDE, SET_ASIDE, found_words, words_of
from unembed.encoders.base import EncoderInfo
from unembed.inverter import Inverter
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.retrieval.rank_documents import unit
from unembed.trials.defended_store import Collection

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Reader:
    """An inverter, and how vectors are handed to it."""

    inverter: Inverter
    scaled: bool  # to length 1 first

    def prepare(self, vectors: Floats) -> Floats:
        return unit(vectors) if self.scaled else vectors


class AttackersBench:
    """One model and one collection, for all defences: what does not depend on the defence is made once."""

    def __init__(self, inverter: Inverter, collection: Collection) -> None:
        self.inverter, self.collection = inverter, collection

    @cached_property
    def plain(self) -> Reader:
        """The model as it is. Whoever inverts vectors of length 1 scales to it first."""
        return Reader(self.inverter, self.inverter.checkpoint.config.encoder.normalised)

    @cached_property
    def known_features(self) -> TextFeatures:
        return self._features(self.collection.known.texts, self.collection.known.vectors)

    @cached_property
    def own_features(self) -> TextFeatures:
        return self._features(self.collection.own.texts, self.collection.own.vectors)

    def adapted(self, features: TextFeatures, vectors: Floats, name: str) -> Reader:
        """The reader for defended vectors [n, D'] of texts: an adapter; or the model as it is, if that finds
        more words of the texts that are set aside.
        """
        base = self.inverter.checkpoint
        info = EncoderInfo(
            name=name, dimension=vectors.shape[1], pooling="unknown", max_tokens=None, licence="unknown",
            normalised=False, source="defended vectors", digest=name,
        )  # fmt: skip
        config, weights = fit_on_features(base, features, vectors, info, name=name)
        found = config.fit["words"]
        if found is not None and vectors.shape[1] == self.inverter.dimension:
            if self._words(features, vectors) >= found:
                return self.plain
        return Reader(Inverter(AdaptedCheckpoint(base, config, weights)), scaled=False)

    def _words(self, features: TextFeatures, vectors: Floats) -> float:
        """What the model as it is finds, on the texts by which an adapter's strength is chosen."""
        base = self.inverter.checkpoint
        assert len(vectors) >= LEAST_PAIRS
        aside = min(MOST_ASIDE, int(SET_ASIDE * len(vectors)))
        with torch.no_grad():
            standard = base.denoiser.read(torch.from_numpy(self.plain.prepare(vectors[-aside:])))
            return found_words(base, standard, words_of(base, features.texts[-aside:]))

    def _features(self, texts: list[str], vectors: Floats) -> TextFeatures:
        return text_features(self.inverter.checkpoint, texts, vectors)
