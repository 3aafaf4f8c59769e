"""Qdrant's REST interface in front of qdrant-client's own local mode: no package brings its server.

The answers are qdrant-client's models as JSON, so that the client under test reads what a server writes.
"""

from __future__ import annotations

import threading
from typing import Any

from json_over_http import JsonOverHttp, send


class QdrantOverHttp(JsonOverHttp):
    """Of its troubles, 0 is to hang up."""

    def __init__(self, client: Any, *, key: str | None = None) -> None:
        super().__init__()
        self.scrolls_left: int | None = None  # then it hangs up for good
        self._client, self._key = client, key
        self._lock = threading.Lock()

    def answer(self, handler: Any, body: Any) -> None:
        with self._lock:
            path = handler.path.split("?")[0]
            self.requests.append((handler.command, path))
            if path.endswith("/scroll") and self.scrolls_left is not None:
                self.scrolls_left -= 1
                if self.scrolls_left < 0:
                    handler.close_connection = True
                    handler.connection.close()
                    return
            status = self.troubles.pop(0) if self.troubles else 200
            if self._key is not None and handler.headers.get("api-key") != self._key:
                status = 401
            if status == 0:
                handler.close_connection = True
                handler.connection.close()
                return
            result: Any = {"error": "trouble"} if status != 200 else self._result(path, body)
        if result is None:
            status, result = 404, {"error": "not found"}
        whole = {"result": result, "status": "ok", "time": 0.0} if status == 200 else {"status": result}
        send(handler, status, whole)

    def _result(self, path: str, body: Any) -> Any:
        parts = path.strip("/").split("/")
        if parts == ["aliases"]:
            return self._client.get_aliases().model_dump(mode="json")
        if parts == ["collections"]:
            return self._client.get_collections().model_dump(mode="json")
        if parts[0] != "collections" or not self._client.collection_exists(parts[1]):
            return None
        name, rest = parts[1], parts[2:]
        if not rest:
            return self._client.get_collection(name).model_dump(mode="json")
        if rest == ["points", "count"]:
            return {"count": self._client.count(name, exact=body.get("exact", True)).count}
        if rest == ["points", "scroll"]:
            points, after = self._client.scroll(
                name,
                limit=body["limit"],
                offset=body.get("offset"),
                with_payload=body.get("with_payload", True),
                with_vectors=body.get("with_vector", False),
            )
            return {"points": [point.model_dump(mode="json") for point in points], "next_page_offset": after}
        return None
