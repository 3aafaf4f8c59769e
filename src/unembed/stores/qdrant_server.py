"""A Qdrant server over HTTP: `scroll` with vectors, page after page. The key is QDRANT_API_KEY."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from unembed.errors import DataError, UnembedError, UsageError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row
from unembed.stores.connection import one_line, page_size, patiently, refused, secret, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_text, choose_vector, metadata
from unembed.stores.payloads import FIRST, text_at, text_fields
from unembed.stores.qdrant_fields import vector_fields
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import as_floats

_PORT = 6333
_PASSING = (408, 425, 429, 500, 502, 503, 504)
Answer = TypeVar("Answer")


class QdrantServer(DescribedStore):
    """One collection. Ids are the points' ids."""

    kind = "qdrant"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        library: Any = require("qdrant_client", extra="qdrant", purpose="Reading from a Qdrant server")
        self._errors: Any = require("qdrant_client.http.exceptions", extra="qdrant", purpose="Qdrant")
        address.check_options()
        self._address = address
        self._key = secret("QDRANT_API_KEY")
        secure = address.kind == "qdrants"
        host = f"[{address.host}]" if ":" in str(address.host) else address.host
        self._client = library.QdrantClient(
            url=f"http{'s' if secure else ''}://{host}",
            port=address.port or (443 if secure else _PORT),
            prefix=address.path or None,
            api_key=self._key,
            timeout=max(1, math.ceil(wanted.timeout)),
            check_compatibility=False,
        )
        try:
            self._open_collection(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        return int(self._call(lambda: self._client.count(self._name, exact=True)).count)

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        limit, offset, read = page_size(batch, self._vector.dimension), None, 0
        fields = [self._text.split(".")[0]] if self._text else False
        while True:
            points, offset = self._page(limit, offset, fields, read=read)
            rows = [
                Row(str(point.id), as_floats(vector), text_at(point.payload, self._text))
                for point in points
                if (vector := self._vector_of(point)) is not None
            ]
            read += len(points)
            if rows:
                yield rows
            if offset is None:
                break

    def close(self) -> None:
        self._client.close()

    def _open_collection(self, wanted: Wanted) -> None:
        names = [one.name for one in self._call(self._client.get_collections).collections]
        name = self._address.collection
        if name is not None and name not in names:
            aliases = self._call(self._client.get_aliases).aliases
            name = next((one.collection_name for one in aliases if one.alias_name == name), name)
        self._name = choose_collection(names, name, str(self._address))
        config = self._call(lambda: self._client.get_collection(self._name)).config
        params = config.params.model_dump(mode="json")
        where = f"{self._address}, collection '{self._name}',"
        self._vectors = vector_fields(params.get("vectors"), params.get("sparse_vectors"))
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._metadata = metadata(getattr(config, "metadata", None) or {})
        first, _ = self._page(FIRST, None, True, vectors=False)
        self._texts = text_fields(point.payload for point in first)
        self._text = choose_text(self._texts, wanted.text_field, where)

    def _page(self, limit: int, offset: Any, payload: Any, *, vectors: bool = True, read: int = 0) -> Any:
        wanted: Any = False if not vectors else [self._vector.name] if self._vector.name else True
        return self._call(
            lambda: self._client.scroll(
                self._name, limit=limit, offset=offset, with_payload=payload, with_vectors=wanted
            ),
            rows=read,
        )

    def _vector_of(self, point: Any) -> Any:
        found = point.vector
        return found.get(self._vector.name) if isinstance(found, dict) else found

    def _call(self, work: Callable[[], Answer], *, rows: int = 0) -> Answer:
        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, rows))

    def _may_pass(self, error: Exception) -> bool:
        if isinstance(error, self._errors.UnexpectedResponse):
            return error.status_code in _PASSING
        return isinstance(error, self._errors.ApiException) and not isinstance(
            getattr(error, "source", None), ValueError
        )

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if isinstance(error, self._errors.UnexpectedResponse):
            if error.status_code in (401, 403):
                return refused(self._address, "QDRANT_API_KEY", given=self._key is not None)
            if error.status_code in _PASSING:
                return silent(self._address, f"status {error.status_code}", rows=rows)
            return UsageError(
                f"{self._address} answered with status {error.status_code}: {one_line(error.reason_phrase)}",
                hint="Is this a Qdrant server? Its HTTP port is usually 6333.",
            )
        source = getattr(error, "source", error)
        if isinstance(source, ValueError):  # pydantic's too: an answer that is none of Qdrant's
            return DataError(
                f"{self._address} does not answer as a Qdrant server does.",
                hint="Check the port: 6333 is the usual one for HTTP, 6334 is for gRPC.",
            )
        if isinstance(error, self._errors.ApiException):
            return silent(self._address, source, rows=rows)
        return None
