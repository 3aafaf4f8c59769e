"""Chroma: a folder, or its server. The token of a server is CHROMA_API_KEY.

Chroma compacts the files of a folder when it reads them, so it is given a copy (`snapshot.Snapshot`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from unembed.errors import DataError, UnembedError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.connection import one_line, page_size, patiently, refused, secret, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_text, choose_vector, metadata
from unembed.stores.payloads import FIRST, text_at, text_fields
from unembed.stores.snapshot import Snapshot
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import as_floats

DOCUMENT = "document"  # the name here for the texts that Chroma keeps beside metadata
_PORT = 8000
_PURPOSE = "Reading a Chroma store"
Answer = TypeVar("Answer")


def open_folder(address: Address, wanted: Wanted) -> ChromaStore:
    """A collection of a folder that `chromadb.PersistentClient` wrote."""
    chromadb = require("chromadb", extra="chroma", purpose=_PURPOSE)
    folder = address.local_path(folder=True)
    if not (folder / "chroma.sqlite3").is_file():
        raise DataError(f"{folder} is no Chroma folder: it has no chroma.sqlite3.")
    copy = Snapshot(folder)
    try:
        return ChromaStore(
            address, wanted, lambda: chromadb.PersistentClient(str(copy.path), settings=_settings()), copy
        )
    except BaseException:
        copy.remove()  # also where there is no client yet that would close
        raise


def open_server(address: Address, wanted: Wanted) -> ChromaStore:
    """A collection of a Chroma server; `?tenant=...&database=...` where they are not the default ones."""
    chromadb = require("chromadb", extra="chroma", purpose=_PURPOSE)
    address.check_options("tenant", "database")
    key = secret("CHROMA_API_KEY", "CHROMA_SERVER_AUTHN_CREDENTIALS")
    secure = address.kind == "chromas"
    places = {name: address.options[name] for name in ("tenant", "database") if name in address.options}

    def connect() -> Any:
        return chromadb.HttpClient(
            host=str(address.host),
            port=address.port or (443 if secure else _PORT),
            ssl=secure,
            headers={"x-chroma-token": key, "Authorization": f"Bearer {key}"} if key else None,
            settings=_settings(),
            **places,
        )

    return ChromaStore(address, wanted, connect, None, has_key=key is not None)


class ChromaStore(DescribedStore):
    """One collection. The text is `document`, or a field of the metadata."""

    kind = "chroma"

    def __init__(
        self,
        address: Address,
        wanted: Wanted,
        connect: Callable[[], Any],
        copy: Snapshot | None,
        *,
        has_key: bool = False,
    ) -> None:
        self._address, self._copy, self._has_key = address, copy, has_key
        self._httpx: Any = require("httpx", extra="chroma", purpose=_PURPOSE)
        self._chroma_errors: Any = require("chromadb.errors", extra="chroma", purpose=_PURPOSE)
        self._client = self._call(connect)
        try:
            self._open_collection(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        return int(self._call(self._collection.count))

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        limit, read = page_size(batch, self._vector.dimension), 0
        beside = [] if self._text is None else ["documents"] if self._text == DOCUMENT else ["metadatas"]
        while True:
            page = self._get(limit, read, ["embeddings", *beside])
            ids = page["ids"]
            if not ids:
                break
            vectors = as_floats(page["embeddings"])  # [n, D]
            texts: list[str | None] = [None] * len(ids)
            if self._text == DOCUMENT:
                texts = [text or None for text in page["documents"]]
            elif self._text is not None:
                texts = [text_at(one, self._text) for one in page["metadatas"]]
            read += len(ids)
            yield [Row(str(one), vectors[row], texts[row]) for row, one in enumerate(ids)]

    def close(self) -> None:
        if hasattr(self._client, "close"):
            self._client.close()
        if self._copy is not None:
            self._copy.remove()

    def _open_collection(self, wanted: Wanted) -> None:
        session = getattr(getattr(self._client, "_server", None), "_session", None)
        if session is not None:  # Chroma's own client would wait for ever
            session.timeout = wanted.timeout
        names = [one.name for one in self._call(self._client.list_collections)]
        name = self._name = choose_collection(names, self._address.collection, str(self._address))
        # Without an embedding function: nothing is to be embedded, and its own may ask for a key.
        self._collection = self._call(lambda: self._client.get_collection(name, embedding_function=None))
        where = f"{self._address}, collection '{name}',"
        first = self._get(FIRST, 0, ["documents", "metadatas", "embeddings"])
        documents = (DOCUMENT,) if any(first["documents"] or ()) else ()
        others = sorted(one for one in text_fields(first["metadatas"] or ()) if one != DOCUMENT)
        self._texts = (*documents, *others)
        self._text = choose_text(self._texts, wanted.text_field, where)
        if wanted.text_field is None and documents:
            self._text = DOCUMENT
        vectors = first["embeddings"]
        width = len(vectors[0]) if vectors is not None and len(vectors) else None
        config = self._collection.configuration_json or {}
        self._vector = VectorField("embedding", width, "float32", _metric(config))
        self._vectors = (self._vector,)
        choose_vector(self._vectors, wanted.vector, where)
        self._metadata = _described(self._collection.metadata or {}, config)

    def _get(self, limit: int, offset: int, include: list[str]) -> Any:
        return self._call(
            lambda: self._collection.get(limit=limit, offset=offset, include=include), rows=offset
        )

    def _call(self, work: Callable[[], Answer], *, rows: int = 0) -> Answer:
        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, rows))

    def _may_pass(self, error: Exception) -> bool:
        return isinstance(error, self._httpx.TransportError)

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if isinstance(error, self._chroma_errors.ChromaAuthError):
            return refused(self._address, "CHROMA_API_KEY", given=self._has_key)
        if isinstance(error, self._httpx.TransportError):
            return silent(self._address, error, rows=rows)
        reason = one_line(error)
        if self._copy is None and "could not connect" in reason.lower():
            return silent(self._address, reason, rows=rows)
        if self._copy is None and any(word in reason for word in ("401", "403", "Unauthorized", "Forbidden")):
            return refused(self._address, "CHROMA_API_KEY", given=self._has_key)
        return DataError(
            f"{self._address} cannot be read with Chroma: {reason}",
            hint="Is it a Chroma store, of a version that the installed chromadb reads?",
        )


def _settings() -> Any:
    config = require("chromadb.config", extra="chroma", purpose=_PURPOSE)
    return config.Settings(anonymized_telemetry=False)


def _metric(config: dict[str, Any]) -> str | None:
    space = next((found["space"] for name in ("hnsw", "spann") if (found := config.get(name))), None)
    return {"ip": "dot"}.get(space, space) if space else None


def _described(own: dict[str, Any], config: dict[str, Any]) -> dict[str, str]:
    """The collection's metadata, and which function embeds its texts."""
    function = config.get("embedding_function") or {}
    model = (function.get("config") or {}).get("model_name")
    return metadata({**own, "embedding_function": function.get("name"), "embedding_model": model})
