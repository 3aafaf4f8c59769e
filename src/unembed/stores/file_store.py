"""A file of vectors as a store: .npy, .npz, safetensors, JSON lines, Parquet; with its texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from unembed.errors import DataError
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_text, choose_vector, measured
from unembed.stores.file_layout import labels, read_layout
from unembed.stores.wanted import Wanted
from unembed.vectors.files import existing_file, open_vectors


class FileStore(DescribedStore):
    """The rows of one file. Ids are those of a column like `id` or `_id`, else the rows' numbers."""

    kind = "file"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        path = existing_file(address.path)
        self._path = path
        self._address = address
        self._layout = read_layout(path)
        self._texts, self._metadata = self._layout.texts, self._layout.metadata
        self._vector = choose_vector(self._layout.vectors, wanted.vector, str(path))
        self._text = choose_text(self._texts, wanted.text_field, str(path))
        self._file = open_vectors(path, field=self._vector.name or None)
        self._vectors, self._vector = measured(self._layout.vectors, self._vector, self.scroll)

    def count(self) -> int | None:
        return self._file.count()

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        beside = labels(self._path, self._layout.id, self._text)
        number = 0
        for block in self._file.reader.blocks(0, batch):  # [n, D]
            some = list(islice(beside, len(block)))
            if len(some) < len(block):
                raise DataError(
                    f"{self._path} has fewer texts than vectors.", hint="Copy or save the file again."
                )
            # The readers give a row without a vector as NaN.
            absent: NDArray[np.bool_] = np.asarray(np.isnan(block).all(axis=1))  # [n]
            page = [
                Row(str(number + row) if one is None else one, block[row], text)
                for row, (one, text) in enumerate(some)
                if not absent[row]
            ]
            number += len(block)
            if page:
                yield page

    def close(self) -> None:
        pass
