"""A trigram language model of the entries: word pairs and triples of the training texts, counted.

The denoiser knows what a vector says, and finds texts likely that say it in any order. This knows nothing
of vectors and tells sentences from shuffled words. It is a Kneser-Ney model: absolute discounting, where each
order leaves what it discounts to the next lower one,

    p(c | a b) = max(n(abc) - D, 0) / n(ab) + left(ab) p(c | b)
    p(c | b)   = max(n(bc) - D, 0) / n(b) + left(b) p(c)
    p(c)       ~ the number of different words that c was seen behind

with left(.) what makes each of them sum to one. Rare pairs and triples are not stored.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.errors import DataError, MismatchError
from unembed.model.vocabulary import Vocabulary
from unembed.storage import atomic_write, digest_bytes

PHRASES = "phrases.npz"
FORMAT = 1
DISCOUNT = 0.75
SMOOTHING = 0.1  # what a word that was never seen counts, beside those that were
RATIO = 1.25  # counts are stored as powers of it
AT_ONCE = 4_000_000  # entries that are counted together

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Phrases:
    """Counts of entries; two more stand for a text's begin (`size`) and end (`size + 1`)."""

    size: int  # of the vocabulary
    vocabulary: str  # its digest
    behind: Ints  # [S] behind how many different words each was seen, of all pairs
    totals: Ints  # [S] how often each was seen before another
    pairs: Ints  # [P] first * S + second, ascending
    pair_counts: Doubles  # [P]
    triples: Ints  # [T] index of the first two among the pairs * S + third, ascending
    triple_counts: Doubles  # [T]

    @classmethod
    def count(
        cls,
        texts: Iterable[Sequence[int]],
        vocabulary: Vocabulary,
        *,
        min_pairs: int = 2,
        min_triples: int = 2,
    ) -> Phrases:
        """Count texts, given as the model's entries; keep what occurs at least so often."""
        size = len(vocabulary)
        width = size + 2
        pairs, triples = _Counter(), _Counter()
        for flat in _flattened(texts, size):  # begin, words, end; begin, words, end; ...
            one, two, three = flat[:-2], flat[1:-1], flat[2:]
            within = flat[1:] != size  # the second is not another text's begin
            pairs.add((flat[:-1] * width + flat[1:])[within])
            within = (two != size) & (three != size)
            triples.add(((one * width + two) * width + three)[within])
        keys, counts = pairs.result()
        totals = np.bincount(keys // width, weights=counts, minlength=width).astype(np.int64)
        behind = np.bincount(keys % width, minlength=width)
        often = counts >= min_pairs
        keys, counts = keys[often], counts[often]
        triple_keys, triple_counts = triples.result()
        often = triple_counts >= min_triples
        triple_keys, triple_counts = triple_keys[often], triple_counts[often]
        index, known = _find(keys, triple_keys // width)
        stored = index[known] * width + triple_keys[known] % width
        return cls(
            size,
            vocabulary_digest(vocabulary),
            behind,
            totals,
            keys,
            _rounded(_levels(counts)),
            stored,
            _rounded(_levels(triple_counts[known])),
        )

    def trigram_log_probs(self, texts: Sequence[Sequence[int]]) -> list[float]:
        """The log-probability of each text with its end, in nats."""
        if not texts:
            return []
        flat = np.concatenate([[self.size, *text, self.size + 1] for text in texts])
        lengths = np.array([len(text) + 1 for text in texts])  # words and end
        ends = np.cumsum(lengths + 1) - 1  # of each text, in flat
        word = np.ones(len(flat), dtype=bool)
        word[ends - lengths] = False  # the begins
        at = np.nonzero(word)[0]
        second, third = flat[at - 1], flat[at]
        each = self.log_probs(flat[np.maximum(at - 2, 0)], second, third)
        return np.add.reduceat(each, np.cumsum(lengths) - lengths).tolist()  # type: ignore[no-any-return]

    def log_probs(self, first: Ints, second: Ints, third: Ints) -> Doubles:
        """log p(third | first second) of each triple; where `second` is the begin, `first` is ignored.  # [n]

        Texts that are asked for together are mostly alike: each of their triples is looked up once.
        """
        width = self.size + 2
        first = np.where(second == self.size, 0, first)
        keys, index = np.unique((first * width + second) * width + third, return_inverse=True)
        several = self._probability(keys // width**2, keys // width % width, keys % width)
        return np.asarray(np.log(several)[index], dtype=np.float64)

    def _probability(self, first: Ints, second: Ints, third: Ints) -> Doubles:
        """p(third | first second); where `second` is the begin, there is no first.  # [n]"""
        width = self.size + 2
        shares, left = self._of_words
        index, known = _find(self.pairs, second * width + third)
        out = left[second] * self._words[third]
        out[known] += shares[index[known]]
        shares, left = self._of_pairs
        context, seen = _find(self.pairs, first * width + second)
        seen &= second != self.size
        out[seen] *= left[context[seen]]
        index, known = _find(self.triples, context * width + third)
        known &= seen
        out[known] += shares[index[known]]
        return out

    @cached_property
    def _words(self) -> Doubles:  # [S] p(c)
        weights = self.behind + SMOOTHING
        weights[self.size] = 0.0  # no text begins within another
        out: Doubles = weights / weights.sum()
        return out

    @cached_property
    def _of_words(self) -> tuple[Doubles, Doubles]:  # [P], [S]
        return _discounted(self.pairs // (self.size + 2), self.pair_counts, self.totals.astype(np.float64))

    @cached_property
    def _of_pairs(self) -> tuple[Doubles, Doubles]:  # [T], [P]
        return _discounted(self.triples // (self.size + 2), self.triple_counts, self.pair_counts)

    def save(self, file: Path) -> None:
        """Write it: differences instead of words, high and low bytes apart, compressed."""
        width = self.size + 2
        arrays: dict[str, NDArray[np.generic]] = {
            "format": np.array(FORMAT),
            "size": np.array(self.size),
            "vocabulary": np.frombuffer(bytes.fromhex(self.vocabulary), dtype=np.uint8),
            "behind": self.behind.astype(np.uint32),
            "totals": self.totals.astype(np.uint64),
            **_grams("pair", self.pairs, self.pair_counts, width, width),
            **_grams("triple", self.triples, self.triple_counts, width, len(self.pairs)),
        }
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
        with atomic_write(file) as opened:
            opened.write(packed.getvalue())

    @classmethod
    def load(cls, file: Path, vocabulary: Vocabulary) -> Phrases:
        """Read it; a damaged file, or one for another vocabulary, is an error."""
        try:
            with np.load(file, allow_pickle=False) as arrays:
                read = {name: arrays[name] for name in arrays.files}
            size = int(read["size"])
            if int(read["format"]) != FORMAT:
                raise DataError(
                    f"{file} was written by another version of unembed.",
                    hint="Count again: unembed phrases --model MODEL --source TEXTS",
                )
            given = read["vocabulary"].tobytes().hex()
            if given == vocabulary_digest(vocabulary):
                pairs, pair_counts = _read_grams(read, "pair", size + 2)
                triples, triple_counts = _read_grams(read, "triple", size + 2)
                behind, totals = read["behind"].astype(np.int64), read["totals"].astype(np.int64)
                return cls(size, given, behind, totals, pairs, pair_counts, triples, triple_counts)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{file} is damaged: {error}",
                hint="Count again: unembed phrases --model MODEL --source TEXTS",
            ) from error
        raise MismatchError(
            f"{file} was counted with another vocabulary than the model's.",
            hint="Count again for this model: unembed phrases --model MODEL --source TEXTS",
        )


def vocabulary_digest(vocabulary: Vocabulary) -> str:
    """sha256 of the tokenizer's ids in their order."""
    return digest_bytes(vocabulary.token_ids.astype("<i4").tobytes())


class _Counter:
    """How often keys occur, in as much memory as there are different ones."""

    def __init__(self) -> None:
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._counts: Ints = np.zeros(0, dtype=np.int64)

    def add(self, keys: Ints) -> None:
        new, counts = np.unique(keys, return_counts=True)
        every = np.concatenate([self._keys, new])
        self._keys, index = np.unique(every, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(index, weights=weights, minlength=len(self._keys)).astype(np.int64)

    def result(self) -> tuple[Ints, Ints]:
        return self._keys, self._counts


def _flattened(texts: Iterable[Sequence[int]], size: int) -> Iterable[Ints]:
    """Texts in a row, begins and ends between them, a few million entries at a time."""
    flat: list[int] = []
    for text in texts:
        flat += (size, *text, size + 1)
        if len(flat) >= AT_ONCE:
            yield np.array(flat, dtype=np.int64)
            flat = []
    if flat:
        yield np.array(flat, dtype=np.int64)


def _find(keys: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where among ascending keys each wanted one is, and whether it is there at all.  # [n], [n]"""
    if not len(keys):
        return np.zeros_like(wanted), np.zeros(len(wanted), dtype=bool)
    index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return index, keys[index] == wanted


def _discounted(context: Ints, counts: Doubles, totals: Doubles) -> tuple[Doubles, Doubles]:
    """What each has of its context, and what every context leaves to the lower order.  # [n], [contexts]"""
    sums = np.bincount(context, weights=counts, minlength=len(totals))
    totals = np.maximum(totals, sums)  # counts are rounded
    shares = np.maximum(counts - DISCOUNT, 0.0) / totals[context]
    held = np.bincount(context, weights=shares, minlength=len(totals))
    return shares, (1.0 - held).astype(np.float64)


def _levels(counts: NDArray[np.generic]) -> NDArray[np.uint8]:
    out: NDArray[np.uint8] = np.round(np.log(counts.astype(np.float64)) / np.log(RATIO)).astype(np.uint8)
    return out


def _rounded(levels: NDArray[np.uint8]) -> Doubles:
    return RATIO ** levels.astype(np.float64)


def _grams(
    name: str, keys: Ints, counts: Doubles, width: int, contexts: int
) -> dict[str, NDArray[np.generic]]:
    """Ascending keys as arrays that compress well: how many each context has, and the steps between them."""
    context, word = keys // width, keys % width
    first = np.diff(context, prepend=-1) != 0
    steps = np.where(first, word, np.diff(word, prepend=0)).astype(np.uint32)
    held = np.bincount(context, minlength=contexts).astype(np.uint32)
    out: dict[str, NDArray[np.generic]] = {f"{name}_counts": _levels(counts)}
    for kind, values in (("held", held), ("steps", steps)):
        for byte in range(4):
            out[f"{name}_{kind}_{byte}"] = (values >> (8 * byte)).astype(np.uint8)
    return out


def _read_grams(arrays: dict[str, NDArray[np.generic]], name: str, width: int) -> tuple[Ints, Doubles]:
    held, steps = (
        sum(arrays[f"{name}_{kind}_{byte}"].astype(np.int64) << (8 * byte) for byte in range(4))
        for kind in ("held", "steps")
    )
    assert isinstance(held, np.ndarray)
    assert isinstance(steps, np.ndarray)
    levels = arrays[f"{name}_counts"]
    if held.sum() != len(steps) or len(steps) != len(levels):
        raise ValueError(f"the numbers of its {name}s differ")
    context = np.repeat(np.arange(len(held)), held)
    sums = np.concatenate([[0], np.cumsum(steps)])
    starts = np.cumsum(held) - held
    word = sums[1:] - sums[starts[context]]
    return context * width + word, _rounded(levels.astype(np.uint8))
