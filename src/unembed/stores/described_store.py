"""What every store says about itself, made of what it found out when it was opened."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from unembed.stores.address import Address
from unembed.stores.base import StoreInfo, VectorField


class DescribedStore:
    """The part of a store that is the same for all of them. Its constructor sets what is below."""

    kind: ClassVar[str]
    _address: Address
    _name: str | None = None  # of the collection or table
    _vector: VectorField  # the field that is read
    _vectors: tuple[VectorField, ...]
    _text: str | None = None
    _texts: tuple[str, ...] = ()
    _metadata: Mapping[str, str] = MappingProxyType({})

    def count(self) -> int | None:
        raise NotImplementedError

    def describe(self) -> StoreInfo:
        return StoreInfo(
            kind=self.kind,
            address=self._address.given,
            collection=self._name,
            count=self.count(),
            vector=self._vector,
            vectors=self._vectors,
            text_field=self._text,
            text_fields=self._texts,
            metadata=dict(self._metadata),
        )
