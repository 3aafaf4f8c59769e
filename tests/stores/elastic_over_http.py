"""The documented wire format of Elasticsearch and OpenSearch, as far as a reader asks for it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from filled import NOTES, Content
from json_over_http import JsonOverHttp, send

DENSE = {"type": "dense_vector", "element_type": "float", "similarity": "cosine"}
KNN = {"type": "knn_vector", "data_type": "float", "method": {"name": "hnsw", "space_type": "cosinesimil"}}


class ElasticOverHttp(JsonOverHttp):
    """Two indices, `notes` and an empty `none`."""

    def __init__(self, content: Content = NOTES, *, opensearch: bool = False, key: str | None = None) -> None:
        super().__init__()
        self.content, self.opensearch, self._key = content, opensearch, key
        self.scrolls: dict[str, tuple[str, int, int, bool]] = {}  # by id: index, size, next, with vectors

    def answer(self, handler: Any, body: Any) -> None:
        parts = urlsplit(handler.path)
        self.requests.append((handler.command, parts.path))
        status, found = 200, None
        if self._key is not None and handler.headers.get("authorization") != f"ApiKey {self._key}":
            status = 401
        elif self.troubles:
            status = self.troubles.pop(0)
        else:
            found = self._result(handler.command, parts.path.strip("/"), parse_qs(parts.query), body)
            status = 200 if found is not None else 404
        send(handler, status, {"status": status} if found is None else found)

    def _result(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        if path == "":
            own = (
                {"distribution": "opensearch", "number": "3.1.0"} if self.opensearch else {"number": "9.2.1"}
            )
            return {"version": own}
        if path == "_alias":
            return {
                "notes": {"aliases": {"current": {}}},
                "none": {"aliases": {}},
                ".system": {"aliases": {}},
            }
        if path == "_search/scroll" and method == "DELETE":
            return {"succeeded": self.scrolls.pop(body["scroll_id"][0], None) is not None}
        if path == "_search/scroll":
            return self._page(body["scroll_id"]) if body["scroll_id"] in self.scrolls else None
        index, _, what = path.partition("/")
        index = "notes" if index == "current" else index
        if index not in ("notes", "none"):
            return None
        if what == "_mapping":
            return {index: {"mappings": self._mapping()}}
        if what == "_count":
            return {"count": len(self.content.texts) if index == "notes" else 0}
        if what == "_search" and "scroll" in query:
            source = body["_source"]
            if self.opensearch and set(source) - {"includes", "excludes"}:
                return None  # it would not parse
            shown = self.opensearch or source.get("exclude_vectors") is False
            name = f"scroll-{len(self.requests)}"
            self.scrolls[name] = (index, body["size"], 0, shown)
            return self._page(name)
        return None

    def _mapping(self) -> dict[str, Any]:
        width = self.content.width
        vector = {**KNN, "dimension": width} if self.opensearch else {**DENSE, "dims": width}
        return {
            "_meta": {"model": self.content.model},
            "properties": {
                "text": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
                "vector": vector,
                "meta": {"properties": {"title": {"type": "keyword"}}},
                "chunks": {"type": "nested", "properties": {"vector": vector}},
            },
        }

    def _page(self, name: str) -> dict[str, Any]:
        index, size, first, shown = self.scrolls[name]
        count = len(self.content.texts) if index == "notes" else 0
        self.scrolls[name] = (index, size, first + size, shown)
        hits = []
        for row in range(first, min(count, first + size)):
            source: dict[str, Any] = {"text": self.content.texts[row] or ""}
            source |= {"vector": self.content.vectors[row].tolist()} if shown else {}
            hits.append({"_index": index, "_id": str(row), "_score": None, "_source": source, "sort": [row]})
        return {"_scroll_id": name, "took": 1, "timed_out": False, "hits": {"hits": hits}}
