"""Adapters of one base on the pairs that `embedded.py` keeps: each is fitted once, and kept for that base.

>>> fits = Fitted(None, state)  # the bundled model
>>> fits.adapter(Embedded("gte-small", state), 5000)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from embedded import MOST, Embedded, first, pair_texts

from unembed.adaptation.fit_adapter import fit_on_features
from unembed.adaptation.pairs import check_count, writable_by
from unembed.adaptation.text_features import TextFeatures, text_features
from unembed.encoders import Encoder, load_encoder
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.adapter import ADAPTER, BUNDLED, AdapterConfig, read_adapter
from unembed.model.bundled import BUNDLED as BUNDLED_FOLDER
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import WEIGHTS
from unembed.storage import folder_lock

BASE_DIGITS = 12  # of its digest, in folders' names


class Fitted:
    """The adapters of a base, in the state folder. What the base makes of texts is computed once for all."""

    def __init__(
        self,
        base: str | Path | None,
        state: Path,
        load: Callable[[str], Encoder] = load_encoder,
        *,
        most: int = MOST,
        quiet: bool = False,
    ) -> None:
        self.base: Checkpoint = Checkpoint.from_pretrained(BUNDLED_FOLDER if base is None else base)
        self.name = BUNDLED if base is None else str(base)
        self.native = Embedded(self.base.config.encoder.name, state, load, quiet=quiet)
        self.digest = self.base.config.digests[WEIGHTS]
        self._folder = state / "adapters" / self.digest[:BASE_DIGITS]
        self._most, self._quiet = most, quiet
        self._features: TextFeatures | None = None

    def adapter(self, other: Embedded, pairs: int, *, minutes: float = 0.0) -> AdaptedCheckpoint:
        """An encoder's adapter on the first pairs that the base can write; on all, where those are fewer."""
        some = first(other.pairs(pair_texts(other.name)), pairs, writable_by(self.base))
        check_count(len(some.texts))
        folder = self._folder / f"{other.name}-{pairs}{f'-{minutes:g}min' if minutes else ''}"
        with folder_lock(folder):
            if not self._is(folder, other.encoder, some.digest, minutes):
                config, weights = fit_on_features(
                    self.base,
                    self._features_of(some.texts),
                    some.vectors,
                    other.encoder.info,
                    digest=some.digest,
                    name=self.name,
                    minutes=minutes,
                    quiet=self._quiet,
                )
                AdaptedCheckpoint(self.base, config, weights).save_pretrained(folder)
            return AdaptedCheckpoint(self.base, *read_adapter(folder), folder)

    def _is(self, folder: Path, encoder: Encoder, pairs: str, minutes: float) -> bool:
        """Whether the adapter that lies there is the one that would be fitted."""
        if not (folder / ADAPTER).exists():
            return False
        there: AdapterConfig = read_adapter(folder)[0]
        tuned = 0.0 if there.fine_tuning is None else there.fine_tuning.minutes
        surrogate = self.base.surrogate.info.digest if self.base.has_surrogate else None
        return (there.base.digest, there.base.surrogate, there.encoder.digest, there.fit["texts"], tuned) == (
            self.digest,
            surrogate,
            encoder.info.digest,
            pairs,
            minutes,
        )

    def _features_of(self, texts: list[str]) -> TextFeatures:
        """They are computed for as many texts as any size may ask for; a size takes the first of them."""
        if self._features is None:
            native = self.native.pairs(pair_texts(self.native.name))
            every = first(native, self._most, writable_by(self.base))
            self._features = text_features(self.base, every.texts, every.vectors)
        some = self._features.first(len(texts))
        assert some.texts == texts, "pairs are the first of the same texts, whatever the encoder"
        return some
