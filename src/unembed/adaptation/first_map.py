"""The first map of an adapter without pairs, which a guided search fits by itself.

Whoever can call an encoder needs no pairs beforehand. The search embeds some texts of the package first, and
goes on with an adapter of these; what it embeds later refits the map (search/local_map.py).
"""

from __future__ import annotations

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.fit_adapter import fit_adapter
from unembed.adaptation.pairs import Pairs, writable_by
from unembed.encoders.base import Encoder
from unembed.errors import MismatchError
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.storage import digest_json


def fit_first_map(
    model: AdaptedCheckpoint, encoder: Encoder, native: Encoder, count: int
) -> tuple[AdaptedCheckpoint, Pairs]:
    """The same adapter, fitted on the first `count` texts of the package, and these pairs: as many calls."""
    wanted = model.adapter.encoder
    if encoder.info.digest != wanted.digest:
        raise MismatchError(
            f"'{encoder.info.name}' is not the encoder whose vectors this adapter is to read: it has no map, "
            f"and only '{wanted.name}' itself can give it one.",
            hint="Leave out --encoder, or fit an adapter on pairs: unembed adapt --help",
        )
    texts = default_texts(count, writable_by(model.base))
    pairs = Pairs(texts, encoder.encode(texts), digest_json(texts))
    config, weights = fit_adapter(model.base, native, pairs, wanted, name=model.adapter.base.name)
    return AdaptedCheckpoint(model.base, config, weights), pairs
