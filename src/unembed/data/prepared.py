"""Reading prepared data: random access by index to memory-mapped shards."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unembed.data.manifest import PreparedManifest, ShardEntry, check_sizes, read_manifest
from unembed.data.shard import array_path
from unembed.data.split import SPLITS, SplitName
from unembed.errors import DataError, UsageError
from unembed.text import read_back

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER_NAME = "tokenizer.json"
MAPPED = 512  # arrays of shards that a process maps at a time; those used longest ago are let go


class PreparedData:
    """A folder that `unembed prepare` made.

    >>> data = PreparedData.open("data/short")
    >>> train = data.split("train")
    >>> train.tokens([0, 1]).shape, train.vectors([0, 1]).shape
    ((2, 9), (2, 384))
    """

    def __init__(self, folder: Path, manifest: PreparedManifest, digest: str) -> None:
        self.folder = folder
        self.manifest = manifest
        self.digest = digest
        self._tokenizer: Tokenizer | None = None

    @classmethod
    def open(cls, folder: Path | str) -> PreparedData:
        """Read the manifest and check that every file is there in full length (not its digest)."""
        folder = Path(folder)
        manifest, digest = read_manifest(folder, PreparedManifest)
        check_sizes(folder, manifest.files)
        return cls(folder, manifest, digest)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the token ids belong to, from the folder itself."""
        if self._tokenizer is None:
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(self.folder / TOKENIZER_NAME))
        return self._tokenizer

    def split(self, name: SplitName) -> Split:
        """One side of the data."""
        if name not in SPLITS:
            raise UsageError(f"There is no split '{name}'.", hint=f"The splits: {', '.join(SPLITS)}.")
        return Split(self, name)


class Split:
    """One side of the data: samples 0 to `len(split) - 1`, the same in every run."""

    def __init__(self, data: PreparedData, name: SplitName) -> None:
        self.name = name
        self._data = data
        self._shards = [shard for shard in data.manifest.shards if shard.counts[name]]
        counts = [shard.counts[name] for shard in self._shards]
        self._ends = np.cumsum(counts, dtype=np.int64)  # [shards]
        # Where this split's rows begin in each shard.
        self._rows = [_first_row(shard, name) for shard in self._shards]
        self._arrays: OrderedDict[tuple[int, str], NDArray[Any]] = OrderedDict()
        self._columns: dict[str, NDArray[Any]] = {}
        self.lengths: NDArray[np.uint16] = self._column("lengths")  # [N]

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def dimension(self) -> int:
        """Of its vectors."""
        return self._data.manifest.encoder.dimension

    def tokens(self, indices: ArrayLike) -> NDArray[np.int64]:  # [n, L]
        """Token ids of the samples, padded to the longest among them."""
        chosen = self._check(indices)
        width = int(self.lengths[chosen].max()) if len(chosen) else 0
        out = np.full((len(chosen), width), self._data.manifest.tokenizer.pad_id, dtype=np.int64)
        for where, rows, part in self._gather(chosen, "tokens"):
            reach = min(width, part.shape[1])
            out[where, :reach] = part[rows, :reach]
        return out

    def vectors(self, indices: ArrayLike) -> NDArray[np.float32]:  # [n, D]
        """The encoder's vectors of the samples."""
        chosen = self._check(indices)
        out = np.empty((len(chosen), self._data.manifest.encoder.dimension), dtype=np.float32)
        for where, rows, part in self._gather(chosen, "vectors"):
            out[where] = part[rows]
        return out

    def texts(self, indices: ArrayLike) -> list[str]:
        """The texts: what the tokens decode to, which is exactly what the encoder was given."""
        chosen = self._check(indices)
        padded = self.tokens(chosen)
        ids = [
            row[:length].tolist() for row, length in zip(padded, self.lengths[chosen].tolist(), strict=True)
        ]
        return read_back(self._data.tokenizer(), ids)

    def languages(self, indices: ArrayLike) -> list[str]:
        """The language under which each sample was collected."""
        names = list(self._data.manifest.languages)
        return [names[code] for code in self._column("languages")[self._check(indices)].tolist()]

    def keys(self, indices: ArrayLike) -> NDArray[np.uint64]:  # [n]
        """`text_key` of each sample: what the split was decided by."""
        return self._column("keys")[self._check(indices)]

    def _column(self, array: str) -> NDArray[Any]:  # [N]
        """A small array of all samples, in memory, read on first use."""
        if array not in self._columns:
            parts = [self._whole(shard, array) for shard in range(len(self._shards))]
            self._columns[array] = np.concatenate(parts) if parts else np.zeros(0, np.uint16)
        return self._columns[array]

    def _check(self, indices: ArrayLike) -> NDArray[np.int64]:
        chosen = np.asarray(indices)
        if chosen.size == 0:
            return np.zeros(0, dtype=np.int64)
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise IndexError("Samples are chosen by a list of whole numbers.")
        if chosen.min() < 0 or chosen.max() >= len(self):
            raise IndexError(
                f"The {self.name} split has samples 0 to {len(self) - 1}; "
                f"asked for {chosen.min()} to {chosen.max()}."
            )
        return chosen.astype(np.int64)

    def _gather(
        self, chosen: NDArray[np.int64], array: str
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]]:
        """For each shard that is touched: positions in the output, rows in the shard, the shard's array."""
        shards = np.searchsorted(self._ends, chosen, side="right")
        order = np.argsort(shards, kind="stable")
        touched, starts = np.unique(shards[order], return_index=True)
        # Nothing chosen splits into one empty part, for no shard.
        for shard, where in zip(touched.tolist(), np.split(order, starts[1:]), strict=False):
            before = int(self._ends[shard - 1]) if shard else 0
            yield where, chosen[where] - before + self._rows[shard], self._array(shard, array)

    def _array(self, shard: int, array: str) -> NDArray[Any]:
        """A shard's array, mapped on first use, and again where too many others were used since."""
        key = (shard, array)
        if key not in self._arrays:
            self._arrays[key] = _load(self._data.folder, self._shards[shard], array, mapped=True)
            if len(self._arrays) > MAPPED:
                self._arrays.popitem(last=False)
        self._arrays.move_to_end(key)
        return self._arrays[key]

    def _whole(self, shard: int, array: str) -> NDArray[Any]:
        """This split's rows of a small array, in memory."""
        entry, row = self._shards[shard], self._rows[shard]
        return _load(self._data.folder, entry, array, mapped=False)[row : row + entry.counts[self.name]]


def _first_row(shard: ShardEntry, name: SplitName) -> int:
    return sum(shard.counts[earlier] for earlier in SPLITS[: SPLITS.index(name)])


def _load(folder: Path, shard: ShardEntry, array: str, *, mapped: bool) -> NDArray[Any]:
    path = array_path(folder, shard.name, array)
    try:
        values: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(
            f"{path} is damaged: {error}", hint=f"'unembed data verify {folder}' lists all damage."
        ) from error
    rows = sum(shard.counts.values())
    if len(values) != rows:
        raise DataError(
            f"{path} has {len(values)} rows instead of {rows}.",
            hint="Find all damage with 'unembed data verify', which says how to repair it.",
        )
    return values
