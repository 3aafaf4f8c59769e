"""A FAISS index as a store: its vectors as it keeps them, exact in a flat index, near in a compressed one.

The file is mapped and read only. Texts are elsewhere (a pickle, with LangChain), and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unembed.errors import DataError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_text, choose_vector
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import Floats
from unembed.vectors.files import existing_file

_METRICS = {0: "dot", 1: "l2"}  # faiss.MetricType


class FaissStore(DescribedStore):
    """One index. Ids are those of the index: of an IDMap, or of IVF lists; else the rows' numbers."""

    kind = "faiss"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._faiss: Any = require("faiss", extra="faiss", purpose="Reading a FAISS index")
        self._address = address
        self._path = existing_file(Path(address.path).expanduser(), any_suffix=bool(address.kind))
        try:
            flags = self._faiss.IO_FLAG_MMAP | self._faiss.IO_FLAG_READ_ONLY
            self._index = self._faiss.read_index(str(self._path), flags)
        except RuntimeError as error:
            raise self._unread(error) from error
        index = self._index
        self._metadata = {"index": type(index).__name__}
        dtype, metric = _dtype(self._faiss, index), _METRICS.get(index.metric_type)
        hashed = "an LSH index keeps the signs of projections only" if dtype == "LSH" else None
        field = VectorField("", int(index.d), dtype, metric, obstacle=hashed)
        self._vectors = (field,)
        self._vector = choose_vector(self._vectors, wanted.vector, str(self._path))
        choose_text((), wanted.text_field, str(self._path))

    def count(self) -> int:
        return int(self._index.ntotal)

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        index, ids = self._index, None
        if isinstance(index, self._faiss.IndexIDMap):
            ids = self._faiss.vector_to_array(index.id_map)  # [N]
            index = self._faiss.downcast_index(index.index)
        try:
            lists = self._faiss.try_extract_index_ivf(index)
            found = self._ordered(index, batch) if lists is None else self._listed(index, lists, batch)
            for numbers, vectors in found:
                names = numbers if ids is None else ids[numbers]
                yield [Row(str(one), vectors[row], None) for row, one in enumerate(names.tolist())]
        except RuntimeError as error:
            raise self._unread(error) from error

    def close(self) -> None:
        pass

    def _ordered(self, index: Any, batch: int) -> Iterator[tuple[Any, Floats]]:
        for first in range(0, int(index.ntotal), batch):
            rows = min(batch, int(index.ntotal) - first)
            yield np.arange(first, first + rows), index.reconstruct_n(first, rows)

    def _listed(self, index: Any, lists: Any, batch: int) -> Iterator[tuple[Any, Floats]]:
        """List by list: `reconstruct_n` takes for granted that ids are 0, 1, 2, ..., and they need not be."""
        chain = index if isinstance(index, self._faiss.IndexPreTransform) else None
        for number in range(lists.nlist):
            size = lists.invlists.list_size(number)
            names = self._faiss.rev_swig_ptr(lists.invlists.get_ids(number), size).copy() if size else []
            for first in range(0, size, batch):
                some = names[first : first + batch]
                vectors = np.empty((len(some), lists.d), np.float32)  # [n, D]
                for row in range(len(some)):
                    lists.reconstruct_from_offset(number, first + row, self._faiss.swig_ptr(vectors[row]))
                yield some, vectors if chain is None else _untransformed(chain, vectors)

    def _unread(self, error: RuntimeError) -> DataError:
        reason = str(error).splitlines()[0] if str(error) else "unknown"
        return DataError(
            f"{self._path}: no vectors can be read from this FAISS index: {reason}",
            hint="Flat, IVF, HNSW, SQ and PQ indexes work; one that hashes its vectors does not keep them.",
        )


def _untransformed(index: Any, vectors: Floats) -> Floats:
    """The vectors before the transforms (a rotation, say) that stand in front of the lists."""
    for number in reversed(range(index.chain.size())):
        vectors = index.chain.at(number).reverse_transform(vectors)
    return vectors


def _dtype(faiss: Any, index: Any) -> str:
    """What a vector is kept as: float32 in flat indexes, else what the index's code is called."""
    while isinstance(index, (faiss.IndexIDMap, faiss.IndexPreTransform)):
        index = faiss.downcast_index(index.index)
    if isinstance(index, (faiss.IndexScalarQuantizer, faiss.IndexIVFScalarQuantizer)):
        quantizer = faiss.ScalarQuantizer
        known = {quantizer.QT_8bit: "int8", quantizer.QT_fp16: "float16", quantizer.QT_bf16: "bfloat16"}
        return str(known.get(index.sq.qtype, "quantised"))
    name = type(index).__name__
    return "float32" if "Flat" in name else name.removeprefix("Index")
