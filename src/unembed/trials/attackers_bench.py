"""What the attackers share: the model, what it makes of texts that they know, adapters fitted on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.adaptation.fit_adapter import fit_on_features
from unembed.adaptation.text_features import TextFeatures, text_features
from unembed.adaptation.tuned_map import LEAST_PAIRS, SET_ASIDE, found_words, words_of
from unembed.encoders.base import Encoder, EncoderInfo
from unembed.inverter import Inverter
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.retrieval.rank_documents import unit
from unembed.trials.column_matching import Order, match_by_pairs
from unembed.trials.defended_store import Collection, DefendedStore

Floats = NDArray[np.float32]
ASIDE = 60  # pairs by which an adapter's strength is chosen: there are many adapters to fit


@dataclass(frozen=True)
class Reader:
    """An inverter, and how vectors are handed to it."""

    inverter: Inverter
    scaled: bool  # to length 1 first
    order: Order | None = None  # of the columns, before that

    def prepare(self, vectors: Floats) -> Floats:
        ordered = vectors if self.order is None else vectors[:, self.order]
        return unit(ordered) if self.scaled else ordered


class AttackersBench:
    """One model and one collection, for all defences: what does not depend on the defence is made once."""

    def __init__(self, inverter: Inverter, collection: Collection, encoder: Encoder | None = None) -> None:
        """encoder: what made the vectors, if it is here; a search refits adapters of few pairs by it."""
        self.inverter, self.collection, self._encoder = inverter, collection, encoder
        self._last: tuple[Floats, Reader] | None = None

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

    def on_own_texts(self, vectors: Floats, *, scaled: bool = False) -> Reader:
        """Fitted on an attacker's own texts [m, D']; once for those who have the same vectors."""
        if self._last is None or self._last[0] is not vectors:
            self._last = (vectors, self.adapted(self.own_features, vectors, scaled=scaled))
        return self._last[1]

    def in_order(self, store: DefendedStore, order: Order) -> Reader:
        """For a store whose columns are in a secret order that somebody found out.

        What else the method does he fits on his own texts, whose order he knows: it is his own draw.
        """
        own, clean = store.own_by_method, self.collection.own.vectors
        reader = self.adapted(self.own_features, own[:, match_by_pairs(clean, own)[0]], scaled=True)
        return replace(reader, order=order)

    def adapted(self, features: TextFeatures, vectors: Floats, *, scaled: bool = False) -> Reader:
        """The reader for defended vectors [n, D'] of texts: an adapter; or the model as it is, if that finds
        more words of the texts that are set aside.

        scaled: by direction alone. His own draw of a secret may be longer or shorter than the store's.
        """
        base = self.inverter.checkpoint
        vectors = unit(vectors) if scaled else vectors
        info = EncoderInfo(
            name="defended", dimension=vectors.shape[1], pooling="unknown", max_tokens=None,
            licence="unknown", normalised=False, source="defended vectors", digest="",
        )  # fmt: skip
        config, weights = fit_on_features(base, features, vectors, info, most_aside=ASIDE)
        found, fits = config.fit["words"], vectors.shape[1] == self.inverter.dimension
        if found is not None and fits and self._words(features, vectors) >= found:
            return self.plain
        inverter = Inverter(AdaptedCheckpoint(base, config, weights), base_encoder=self._encoder)
        return Reader(inverter, scaled=scaled)

    def _words(self, features: TextFeatures, vectors: Floats) -> float:
        """What the model as it is finds, on the texts by which an adapter's strength is chosen."""
        base = self.inverter.checkpoint
        assert len(vectors) >= LEAST_PAIRS
        aside = min(ASIDE, int(SET_ASIDE * len(vectors)))
        with torch.no_grad():
            standard = base.denoiser.read(torch.from_numpy(self.plain.prepare(vectors[-aside:])))
            return found_words(base, standard, words_of(base, features.texts[-aside:]))

    def _features(self, texts: list[str], vectors: Floats) -> TextFeatures:
        return text_features(self.inverter.checkpoint, texts, vectors)
