"""Elasticsearch and OpenSearch, experimental: tested against their documented wire format, not a server.

An index is read through a scroll, which both have. The key is ELASTIC_API_KEY; for a user in the address,
ELASTIC_PASSWORD or OPENSEARCH_PASSWORD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from unembed.errors import DataError, UnembedError, UsageError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row
from unembed.stores.connection import one_line, page_size, patiently, refused, secret, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.elastic_mapping import fields_of
from unembed.stores.fields import choose_collection, choose_text, choose_vector, measured, metadata
from unembed.stores.payloads import text_at
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import as_floats

_PORT = 9200
_KEEP = "1m"  # how long the server keeps a scroll between two pages
_PASSING = (429, 502, 503, 504)
_CREDENTIALS = "ELASTIC_API_KEY, or ELASTIC_PASSWORD for a user in the address"


class ElasticStore(DescribedStore):
    """One index, by its name or an alias. Ids are the documents' `_id`."""

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._httpx: Any = require("httpx", extra="elasticsearch", purpose="Reading from Elasticsearch")
        address.check_options()
        self._address = address
        self.kind = address.kind.removesuffix("s")  # type: ignore[misc]  # one class, two names
        tls = "https" if address.kind.endswith("s") else "http"
        key, password = secret("ELASTIC_API_KEY"), secret("ELASTIC_PASSWORD", "OPENSEARCH_PASSWORD")
        login = (address.user, password) if address.user and password else None
        self._has_key = bool(login or key)
        self._client = self._httpx.Client(
            base_url=f"{tls}://{address.host}:{address.port or _PORT}/{address.path}",
            headers={"Authorization": f"ApiKey {key}"} if key and login is None else {},
            auth=login,
            timeout=wanted.timeout,
        )
        try:
            self._open_index(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        return int(self._ask("GET", f"{self._name}/_count")["count"])

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        names = [self._vector.name, *([self._text] if self._text else [])]
        body = {
            "size": page_size(batch, self._vector.dimension),
            "sort": ["_doc"],
            "_source": {"includes": names, **self._with_vectors},
        }
        read, held = 0, None
        try:
            answer = self._ask("POST", f"{self._name}/_search", body, params={"scroll": _KEEP})
            while hits := answer["hits"]["hits"]:
                held = answer.get("_scroll_id", held)
                rows = [row for hit in hits if (row := self._row(hit)) is not None]
                read += len(hits)
                if rows:
                    yield rows
                body = {"scroll": _KEEP, "scroll_id": held}
                answer = self._ask("POST", "_search/scroll", body, rows=read)
        finally:
            if held is not None:
                with suppress(Exception):  # it ends by itself after a minute
                    self._client.request("DELETE", "_search/scroll", json={"scroll_id": [held]})

    def close(self) -> None:
        self._client.close()

    def _open_index(self, wanted: Wanted) -> None:
        version = self._ask("GET", "").get("version") or {}
        number = tuple(int(part) for part in str(version.get("number", "0")).split(".")[:2] if part.isdigit())
        # Since 9.2, Elasticsearch leaves vectors out of what it shows; earlier ones do not know the option.
        left_out = "distribution" not in version and number >= (9, 2)
        self._with_vectors = {"exclude_vectors": False} if left_out else {}
        found: Mapping[str, Any] = self._ask("GET", "_alias")
        names = {name for name in found if not name.startswith(".")}
        names |= {alias for one in found.values() for alias in one.get("aliases") or {}}
        self._name = choose_collection(
            sorted(names) if self._address.collection else sorted(set(found) & names),
            self._address.collection,
            str(self._address),
        )
        mappings = [one["mappings"] for one in self._ask("GET", f"{self._name}/_mapping").values()]
        where = f"{self._address}, index '{self._name}',"
        self._vectors, self._texts = fields_of(mappings[0])
        self._metadata = metadata(mappings[0].get("_meta") or {})
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._text = choose_text(self._texts, wanted.text_field, where)
        self._vectors, self._vector = measured(self._vectors, self._vector, self.scroll)

    def _row(self, hit: Mapping[str, Any]) -> Row | None:
        source: Any = hit.get("_source") or {}
        value = source.get(self._vector.name)
        if value is None and "." in self._vector.name:
            value = source
            for part in self._vector.name.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return None
        if not isinstance(value, list):
            raise DataError(
                f"{self._address}, document {hit['_id']}: its vector is not a list of numbers.",
                hint="Vectors that were written as Base64 cannot be read yet.",
            )
        return Row(str(hit["_id"]), as_floats(value), text_at(source, self._text))

    def _ask(
        self, method: str, path: str, body: Any = None, *, params: Any = None, rows: int = 0
    ) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            answer = self._client.request(method, path, json=body, params=params)
            answer.raise_for_status()
            found = answer.json()
            if not isinstance(found, dict):
                raise ValueError("not an object")
            return found

        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, rows))

    def _may_pass(self, error: Exception) -> bool:
        if isinstance(error, self._httpx.HTTPStatusError):
            return int(error.response.status_code) in _PASSING
        return isinstance(error, self._httpx.TransportError)

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if isinstance(error, self._httpx.HTTPStatusError):
            status = int(error.response.status_code)
            if status in (401, 403):
                return refused(self._address, _CREDENTIALS, given=self._has_key)
            if status in _PASSING or rows:
                return silent(self._address, f"status {status}", rows=rows)
            return UsageError(
                f"{self._address} answered with status {status}.",
                hint="Is this an Elasticsearch or OpenSearch server? Its port is usually 9200.",
            )
        if isinstance(error, self._httpx.TransportError):
            return silent(self._address, one_line(error), rows=rows)
        if isinstance(error, ValueError):
            return DataError(
                f"{self._address} does not answer as Elasticsearch or OpenSearch does.",
                hint="Check host and port; 9200 is the usual one.",
            )
        return None
