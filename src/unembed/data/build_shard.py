"""One block of texts into one shard's arrays: align, drop duplicates, split, encode by length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unembed.data.align import Aligned, align
from unembed.data.collected import CollectedTexts
from unembed.data.config import EncodeConfig
from unembed.data.normalise import text_keys
from unembed.data.split import SPLITS, split_labels
from unembed.data.target_tokenizer import ENCODERS_OWN, pad_id, plain_copy, vocabulary_size
from unembed.encoders.base import Encoder
from unembed.errors import DataError, UnembedError, UsageError
from unembed.progress import Progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Keys = NDArray[np.uint64]
FirstSeen = Callable[[Keys], NDArray[np.bool_]]

# Texts handed to the encoder at once: enough for it to form full batches of equal length.
WINDOW = 1024


@dataclass(frozen=True)
class EncodeContext:
    """Everything a shard depends on, apart from its texts."""

    config: EncodeConfig
    encoder: Encoder
    tokenizer: Tokenizer
    languages: tuple[str, ...]
    vocabulary: int
    pad_id: int
    # Set where the targets are in other tokens than the encoder's: its own, to see what it would cut.
    encoder_tokenizer: Tokenizer | None

    @classmethod
    def of(
        cls, config: EncodeConfig, encoder: Encoder, tokenizer: Tokenizer, texts: CollectedTexts
    ) -> EncodeContext:
        limit = encoder.info.max_tokens
        own = config.tokenizer == ENCODERS_OWN
        if own and limit is not None:
            reach = limit - tokenizer.num_special_tokens_to_add(is_pair=False)
            if config.seq_len > reach:
                raise UsageError(
                    f"seq_len is {config.seq_len}, but {encoder.info.name} reads only {reach} tokens "
                    "of a text: the rest would be in the target and not in the vector.",
                    hint=f"Choose --seq-len {reach} or less.",
                )
        if len(texts.manifest.languages) > 256:
            raise UsageError("More than 256 languages in one folder.", hint="Collect into several folders.")
        return cls(
            config=config,
            encoder=encoder,
            tokenizer=tokenizer,
            languages=tuple(texts.manifest.languages),
            vocabulary=vocabulary_size(tokenizer),
            pad_id=pad_id(tokenizer),
            encoder_tokenizer=None if own or limit is None else _own_tokenizer(encoder),
        )


@dataclass(frozen=True)
class BuiltShard:
    arrays: dict[str, NDArray[Any]]
    record: dict[str, Any]


def build_shard(
    context: EncodeContext,
    name: str,
    block: Sequence[tuple[str, str]],
    start: int,
    first_seen: FirstSeen,
    progress: Progress,
) -> BuiltShard:
    """The shard of `block`, whose first text is number `start` of the collection.

    `first_seen` says which of the keys no earlier text had.
    """
    config = context.config
    samples, kept, dropped, keys = _read(context, block)
    new = first_seen(keys)
    if duplicates := len(kept) - int(new.sum()):
        dropped["duplicate"] += duplicates
    labels = split_labels(keys, validation_share=config.validation_share, test_share=config.test_share)
    # Rows are train first, then validation, then test; within each, as collected.
    rows = np.argsort(labels, kind="stable")
    rows = rows[new[rows]]
    indices = [kept[row] for row in rows.tolist()]
    progress.advance(len(block) - len(indices))
    chosen = [samples[index] for index in indices]
    codes = np.array([context.languages.index(block[index][1]) for index in indices], dtype=np.uint8)
    labels = labels[rows]
    arrays = {
        "tokens": _padded(context, [sample.ids for sample in chosen]),
        "lengths": np.array([len(sample.ids) for sample in chosen], dtype=np.uint16),
        "vectors": _vectors(context, name, chosen, [start + index for index in indices], labels, progress),
        "keys": keys[rows],
        "languages": codes,
    }
    record = {
        "texts": len(block),
        "counts": _by_split(labels),
        "languages": {
            language: _by_split(labels[codes == number])
            for number, language in enumerate(context.languages)
            if (codes == number).any()
        },
        "dropped": dict(sorted(dropped.items())),
        "realigned": sum(sample.realigned for sample in chosen),
    }
    return BuiltShard(arrays, record)


def block_keys(context: EncodeContext, block: Sequence[tuple[str, str]]) -> Keys:  # [n]
    """The keys of a block's texts that pass the filters: what `build_shard` asks `first_seen` about."""
    return _read(context, block)[3]


def _read(
    context: EncodeContext, block: Sequence[tuple[str, str]]
) -> tuple[list[Aligned], list[int], Counter[str], Keys]:
    """The block's samples, which of them are kept, why the others are not, and the keys of those that are."""
    samples = align(context.tokenizer, [text for text, _ in block], seq_len=context.config.seq_len)
    kept, dropped = _keep(context, samples)
    return samples, kept, dropped, text_keys([samples[index].text for index in kept])


def _by_split(labels: NDArray[np.uint8]) -> dict[str, int]:
    """How many of these labels [n] are of each split."""
    return {split: int((labels == code).sum()) for code, split in enumerate(SPLITS)}


def _keep(context: EncodeContext, samples: list[Aligned]) -> tuple[list[int], Counter[str]]:
    """Indices of the samples that pass the filters, and why the others do not."""
    config = context.config
    dropped: Counter[str] = Counter()
    kept = []
    for index, sample in enumerate(samples):
        if config.max_tokens is not None and sample.full_length > config.max_tokens:
            dropped["too_long"] += 1
        elif not sample.stable:
            dropped["unstable"] += 1
        elif len(sample.ids) < config.min_tokens:
            dropped["too_short"] += 1
        else:
            kept.append(index)
    if context.encoder_tokenizer is not None and kept:
        limit = context.encoder.info.max_tokens or 0
        read = context.encoder_tokenizer.encode_batch([samples[index].text for index in kept])
        fits = [len(encoding.ids) <= limit for encoding in read]
        if cut := fits.count(False):
            dropped["too_long_for_encoder"] += cut
            kept = [index for index, fit in zip(kept, fits, strict=True) if fit]
    return kept, dropped


def _padded(context: EncodeContext, rows: list[list[int]]) -> NDArray[Any]:  # [n, longest]
    dtype = np.uint16 if context.vocabulary <= 1 << 16 else np.uint32
    longest = max((len(row) for row in rows), default=0)
    tokens = np.full((len(rows), longest), context.pad_id, dtype=dtype)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = row
    return tokens


def _vectors(
    context: EncodeContext,
    shard: str,
    samples: list[Aligned],
    numbers: list[int],
    labels: NDArray[np.uint8],
    progress: Progress,
) -> NDArray[np.float16]:  # [n, D]
    """The encoder's vectors, made in windows of similar length, in the order of the samples."""
    vectors = np.empty((len(samples), context.encoder.info.dimension), dtype=np.float16)
    # What is measured on is always exact: only training vectors may be rounded.
    rounded = (labels == SPLITS.index("train")) & (context.config.precision == "bf16")  # [n]
    for window in _windows([len(sample.ids) for sample in samples], rounded):
        texts = [samples[index].text for index in window]
        try:
            with _bf16() if rounded[window[0]] else nullcontext():
                made = context.encoder.encode(texts)
        except DataError as error:
            at = _first_failure(context.encoder, texts)
            raise _bad_vector(shard, numbers[window[at]], texts[at], error.message) from error
        if made.shape != (len(texts), vectors.shape[1]):
            raise DataError(
                f"{context.encoder.info.name} gave an array of shape {made.shape} for {len(texts)} texts "
                f"and a dimension of {vectors.shape[1]} (shard {shard})."
            )
        with np.errstate(over="ignore"):
            halves = made.astype(np.float16)
        bad = np.flatnonzero(~np.isfinite(halves).all(axis=1))
        if len(bad):
            at = int(bad[0])
            finite = bool(np.isfinite(made[at]).all())
            problem = "its vector does not fit float16" if finite else "its vector has NaN or infinity in it"
            raise _bad_vector(shard, numbers[window[at]], texts[at], problem)
        vectors[window] = halves
        progress.advance(len(window))
    return vectors


def _windows(lengths: list[int], rounded: NDArray[np.bool_]) -> Iterator[list[int]]:
    """Indices of texts of similar length that are encoded in one precision."""
    order = np.lexsort((np.array(lengths), rounded))
    for part in np.split(order, [int((~rounded).sum())]):
        for begin in range(0, len(part), WINDOW):
            yield part[begin : begin + WINDOW].tolist()


def _bf16() -> AbstractContextManager[None]:
    """Within it, torch's matrix products are rounded to bf16, where the hardware does that faster."""
    import torch

    from unembed.compute.precision import Processor

    gpu = torch.accelerator.current_accelerator(check_available=True)
    if gpu is None and not Processor.here().bf16:
        return nullcontext()
    return torch.autocast("cpu" if gpu is None else gpu.type, dtype=torch.bfloat16)


def _first_failure(encoder: Encoder, texts: list[str]) -> int:
    """Which text makes the encoder fail, by halving; 0 if none does alone."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            encoder.encode(texts[low:middle])
            low = middle
        except UnembedError:
            high = middle
    return low


def _bad_vector(shard: str, number: int, text: str, problem: str) -> DataError:
    shown = text if len(text) <= 60 else text[:60] + "…"
    return DataError(
        f"Text {number} (shard {shard}) cannot be used: {problem}. The text: {shown!r}",
        hint="Finished shards are kept. Take the text out of the source and collect again, or choose "
        "another encoder.",
    )


def _own_tokenizer(encoder: Encoder) -> Tokenizer | None:
    try:
        return plain_copy(encoder.tokenizer())
    except UnembedError:
        return None  # an endpoint that keeps its tokenizer to itself
