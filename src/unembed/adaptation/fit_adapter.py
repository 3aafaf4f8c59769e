"""`unembed.adapt`: an inverter for another encoder, from pairs of texts and its vectors.

The base's own encoder embeds the same texts, and a ridge regression maps the other vectors to the base's
standardised ones. The surrogate's last layer is fitted anew, from its hidden state to the other vectors.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.map_training import check_trainable, train_map
from unembed.adaptation.pairs import (
    Fits,
    Pairs,
    check_count,
    choose_texts,
    embed_pairs,
    read_pairs,
    writable_by,
)
from unembed.adaptation.text_features import TextFeatures, text_features
from unembed.adaptation.tuned_map import MOST_ASIDE, fit_map
from unembed.encoders import load_encoder
from unembed.encoders.base import Encoder, EncoderInfo
from unembed.errors import MismatchError, UnembedError, UsageError
from unembed.model.adapted_checkpoint import AdaptedCheckpoint, load_adapted
from unembed.model.adapter import (
    ADAPTER,
    BUNDLED,
    AdapterConfig,
    AdapterWeights,
    Base,
    FineTuning,
    read_adapter,
)
from unembed.model.bundled import BUNDLED as BUNDLED_FOLDER
from unembed.model.card import adapter_card
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import CARD, WEIGHTS
from unembed.model.ridge import fit_ridge

PAIRS = 5000


def adapt(
    encoder: str | Encoder | None = None,
    output: str | Path = "adapter",
    *,
    texts: str | Path | None = None,
    pairs: int = PAIRS,
    pairs_from: str | Path | None = None,
    text_field: str | None = None,
    vector_field: str | None = None,
    base: str | Path | None = None,
    base_encoder: Encoder | None = None,
    minutes: float = 0.0,
    seed: int = 0,
    device: str | None = None,
    trust_remote_code: bool = False,
    quiet: bool = True,
    announce: Callable[[str], None] | None = None,
) -> AdaptedCheckpoint:
    """Fit an adapter for `encoder` and write it to `output`: what `unembed adapt` does.

    >>> model = unembed.adapt("mpnet", "models/mpnet", texts="sentences.txt")
    >>> unembed.Inverter(model).invert(vectors[0]).text

    `encoder` is a name, a folder, a hub id or an `Encoder`; `texts` a file of sentences, of which `pairs` are
    drawn and embedded, by default of the sentences that come with the package. With no pairs at all
    (`pairs=0`) nothing is embedded: every guided search then makes a map of what it embeds. Whoever has
    pairs and cannot call the encoder gives them as `pairs_from`: JSON lines or Parquet with a text and a
    vector in each record, or the address of a vector store, of which `pairs` are drawn (`encoder` is then
    only a name).
    `base` is the model to adapt, by default the bundled one; `base_encoder` stands in for the encoder that
    it was trained for. `minutes` of fine-tuning follow, and are kept where they find more words of pairs set
    aside.
    Called again after an interruption, it goes on with the texts that are not embedded yet.
    """
    if pairs:
        check_count(pairs)
    elif texts is not None or pairs_from is not None or minutes:
        raise UsageError(
            "With --pairs 0 there is nothing to fit: texts, pairs and minutes mean nothing.",
            hint="Leave them out, or raise --pairs.",
        )
    tell = announce or (lambda text: None)
    output = Path(output)
    model: Checkpoint = Checkpoint.from_pretrained(BUNDLED_FOLDER if base is None else base)
    if isinstance(model, AdaptedCheckpoint):
        raise UsageError("The base is an adapter itself.", hint="Adapt the model that it was made of.")
    if minutes:
        check_trainable(model, pairs, minutes)  # before anything is embedded
    fits = writable_by(model)
    name = BUNDLED if base is None else str(base)
    if pairs_from is not None:
        fields = {"text_field": text_field, "vector_field": vector_field}
        some = read_pairs(pairs_from, pairs, fits, **fields, seed=seed, quiet=quiet)
        info = _described(encoder, some)
    else:
        encoder = _loaded(encoder, model, device, trust_remote_code)
        if not pairs:
            return _write(output, model, *without_pairs(model, encoder.info, name=name), tell)
        chosen = _texts(texts, pairs, output / "pairs" / "texts", fits, seed=seed, quiet=quiet)
        tell(f"Embedding {len(chosen):,} texts with {encoder.info.name}.")
        some = embed_pairs(chosen, encoder, output / "pairs", quiet=quiet)
        info = encoder.info
    native = base_encoder or load_encoder(model.config.encoder.name)
    config, weights = fit_adapter(
        model, native, some, info, name=name, minutes=minutes, seed=seed, quiet=quiet
    )
    return _write(output, model, config, weights, tell)


def _loaded(
    encoder: str | Encoder | None, base: Checkpoint, device: str | None, trust_remote_code: bool
) -> Encoder:
    """The encoder to adapt to."""
    if encoder is None:
        raise UsageError(
            "An adapter is fitted on pairs of texts and vectors.",
            hint="Give an encoder to embed texts with, or pairs: --pairs-from FILE|STORE",
        )
    if isinstance(encoder, str):
        encoder = load_encoder(encoder, device=device, trust_remote_code=trust_remote_code)
    if encoder.info.digest == base.config.encoder.digest:
        raise UsageError(
            f"The base was trained for '{encoder.info.name}' itself: there is nothing to adapt.",
            hint="Use the base, or give another encoder.",
        )
    return encoder


def _write(
    output: Path,
    base: Checkpoint,
    config: AdapterConfig,
    weights: AdapterWeights,
    tell: Callable[[str], None],
) -> AdaptedCheckpoint:
    """Write the folder, say what is in it, and read it back."""
    _drop_stale_card(output)
    AdaptedCheckpoint(base, config, weights).save_pretrained(output)
    if config.has_map:
        tell(_fitted(config.fit))
    else:
        tell("Without pairs it has no map yet: a guided search makes one, with calls of the encoder.")
    if config.fine_tuning is not None:
        tell(_told(config.fine_tuning))
    tell(f"The adapter is in {output}.")
    return load_adapted(output)


def estimate(
    texts: str | Path | None, pairs: int = PAIRS, base: str | Path | None = None, *, seed: int = 0
) -> dict[str, int]:
    """What `adapt` would embed: how many texts, and about how many tokens, as the base counts them."""
    if not pairs:
        return {"texts": 0, "tokens": 0}
    check_count(pairs)
    model: Checkpoint = Checkpoint.from_pretrained(BUNDLED_FOLDER if base is None else base)
    with tempfile.TemporaryDirectory() as temporary:
        chosen = _texts(texts, pairs, Path(temporary) / "texts", writable_by(model), seed=seed, quiet=True)
    found = model.tokenizer.encode_batch(chosen, add_special_tokens=False)
    return {"texts": len(chosen), "tokens": sum(len(one.ids) for one in found)}


def fit_adapter(
    base: Checkpoint,
    native: Encoder,
    pairs: Pairs,
    encoder: EncoderInfo,
    *,
    name: str = BUNDLED,
    minutes: float = 0.0,
    seed: int = 0,
    quiet: bool = True,
) -> tuple[AdapterConfig, AdapterWeights]:
    """The adapter of these pairs. native: the encoder that the base was trained for, needed once more."""
    if native.info.digest != base.config.encoder.digest:
        raise MismatchError(
            f"The encoder '{native.info.name}' here is not the one that the base was trained for.",
            hint="Install that version of the encoder, or choose another base.",
        )
    features = text_features(base, pairs.texts, native.encode(pairs.texts))
    return fit_on_features(
        base,
        features,
        pairs.vectors,
        encoder,
        digest=pairs.digest,
        name=name,
        minutes=minutes,
        seed=seed,
        quiet=quiet,
    )


def without_pairs(
    base: Checkpoint, encoder: EncoderInfo, *, name: str = BUNDLED
) -> tuple[AdapterConfig, AdapterWeights]:
    """The adapter for an encoder of which no vector is known: it has no map, a search makes one."""
    described = Base(name=name, digest=base.config.digests.get(WEIGHTS, ""))
    config = AdapterConfig(base=described, encoder=encoder, vector_norm=(1.0, 0.0), fit={"pairs": 0})
    standard_dim = base.config.denoiser.standard_dim
    return config, AdapterWeights.without_pairs(encoder.dimension, standard_dim)


def fit_on_features(
    base: Checkpoint,
    features: TextFeatures,
    vectors: NDArray[np.float32],
    encoder: EncoderInfo,
    *,
    digest: str = "",
    name: str = BUNDLED,
    most_aside: int = MOST_ASIDE,
    minutes: float = 0.0,
    seed: int = 0,
    quiet: bool = True,
) -> tuple[AdapterConfig, AdapterWeights]:
    """The adapter of vectors [n, D] of the features' texts. digest: what identifies the pairs.

    minutes: how long the map is fine-tuned, which is kept if it pays.
    """
    if minutes:
        check_trainable(base, len(features.texts), minutes)
    other = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))  # [n, D]
    tuned = fit_map(base, other, features.standard, features.texts, most_aside=most_aside)
    to_base = tuned.ridge
    matrix, shift, fine_tuning = tuned.louder * to_base.matrix, to_base.shift, None
    if minutes:
        standard, texts = features.standard, features.texts
        change, fine_tuning = train_map(
            base, tuned, other, standard, texts, minutes=minutes, seed=seed, quiet=quiet
        )
        if fine_tuning.kept:
            matrix, shift = matrix + change.matrix, shift + change.shift
    fit: dict[str, Any] = {
        "pairs": len(features.texts),
        "texts": digest,
        "strength": to_base.strength,
        "explained": to_base.explained,
        "louder": tuned.louder,
        "energy": tuned.energy,
        "words": tuned.words,
    }
    project = bias = surrogate_digest = None
    if features.hidden is not None:
        unit = torch.nn.functional.normalize(other, dim=1)  # [n, D]
        from_hidden = fit_ridge(features.hidden, unit)
        project, bias = from_hidden.matrix.T, from_hidden.shift - from_hidden.mean @ from_hidden.matrix
        fit |= {"surrogate_strength": from_hidden.strength, "surrogate_explained": from_hidden.explained}
        surrogate_digest = base.surrogate.info.digest
    norms = other.norm(dim=1)  # [n]
    config = AdapterConfig(
        base=Base(name=name, digest=base.config.digests.get(WEIGHTS, ""), surrogate=surrogate_digest),
        encoder=encoder,
        vector_norm=(float(norms.mean()), float(norms.std())),
        fit=fit,
        fine_tuning=fine_tuning,
    )
    weights = AdapterWeights(mean=to_base.mean, matrix=matrix, shift=shift, project=project, bias=bias)
    weights.check(config)
    return config, weights


def _texts(
    source: str | Path | None, count: int, folder: Path, fits: Fits, *, seed: int, quiet: bool
) -> list[str]:
    """`count` texts of a source, or of those that come with the package."""
    if source is None:
        return default_texts(count, fits)
    return choose_texts(str(source), count, folder, fits, seed=seed, quiet=quiet)


def _drop_stale_card(folder: Path) -> None:
    """Take away the card of an earlier fit that nobody has edited: a new one is written with the adapter."""
    card = folder / CARD
    if not card.is_file() or not (folder / ADAPTER).is_file():
        return
    try:
        before, _ = read_adapter(folder)
    except UnembedError:  # damaged: it is replaced, and whose card that is cannot be told
        return
    if card.read_text(encoding="utf-8") == adapter_card(before):
        card.unlink()


def _fitted(fit: dict[str, Any]) -> str:
    """What the closed form is worth. A map that is chosen by words may err more than the mean does."""
    if fit["words"] is None:
        return f"{fit['pairs']:,} pairs explain {fit['explained']:.0%} of what the base reads."
    return f"{fit['pairs']:,} pairs: of those set aside, the map finds {fit['words']:.0%} of the words."


def _told(found: FineTuning) -> str:
    told = (
        f"Of {found.aside:,} pairs set aside, the closed form finds {found.words_before:.1%} of the words, "
        f"fine-tuned {found.words_after:.1%}"
    )
    return f"{told}." if found.kept else f"{told} at best. That does not pay: the closed form stays."


def _described(encoder: str | Encoder | None, pairs: Pairs) -> EncoderInfo:
    """What is known of an encoder that only its pairs speak of."""
    if encoder is not None and not isinstance(encoder, str):
        return encoder.info
    return EncoderInfo(
        name=encoder or "unknown",
        dimension=pairs.vectors.shape[1],
        pooling="unknown",
        max_tokens=None,
        licence="unknown",
        normalised=bool(_near_one(pairs.vectors)),
        source="pairs of texts and vectors",
        digest=pairs.digest,
    )


def _near_one(vectors: NDArray[np.float32]) -> bool:
    return bool(np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3))
