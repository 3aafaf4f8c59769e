"""Every store by name, filled when it is first asked for; its server runs until the end."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import filled_servers
import servers
from elastic_over_http import ElasticOverHttp
from filled import NOTES, Content, Filled, qdrant_points
from qdrant_over_http import QdrantOverHttp


class Stores:
    """Filled stores by name, and the servers behind some of them."""

    def __init__(self, folder: Path, exits: ExitStack, content: Content = NOTES) -> None:
        self._folder, self._exits, self._content = folder, exits, content
        self._filled: dict[str, Filled] = {}
        self.running: dict[str, servers.Running] = {}

    def __call__(self, name: str) -> Filled:
        if name not in self._filled:
            self._filled[name] = self._fill(name)
        return self._filled[name]

    def _fill(self, name: str) -> Filled:
        folder, content = filled_servers.folder_of(self._folder, name), self._content
        if name in filled_servers.LOCAL:
            return filled_servers.LOCAL[name](folder, content)
        if name == "pgvector":
            return filled_servers.postgres(self._start(name, servers.postgres_server()), content)
        if name == "redis":
            return filled_servers.redis(self._start(name, servers.redis_server(folder)), content)
        if name == "chroma_server":
            local = filled_servers.LOCAL["chroma"](folder, content)
            running = self._start(name, servers.chroma_server(folder / "chroma", folder))
            return filled_servers.chroma(running, local)
        if name == "milvus_server":
            filled_servers.LOCAL["milvus"](folder, content)
            return filled_servers.milvus(
                self._start(name, servers.milvus_server(folder / "milvus.db", folder))
            )
        if name in ("elasticsearch", "opensearch"):
            fake = ElasticOverHttp(content, opensearch=name == "opensearch")
            return filled_servers.elastic(self._exits.enter_context(fake.running()))
        assert name == "qdrant_server"
        return filled_servers.qdrant(self._exits.enter_context(QdrantOverHttp(in_memory(content)).running()))

    def _start(self, name: str, server: Any) -> servers.Running:
        self.running[name] = self._exits.enter_context(server)
        return self.running[name]


def in_memory(content: Content = NOTES) -> Any:
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    qdrant_points(client, content)
    return client
