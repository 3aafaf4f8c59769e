"""Every store, filled once a session and when it is first asked for; its server runs until the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import servers
from every_store import Stores

os.environ["ANONYMIZED_TELEMETRY"] = "False"


@pytest.fixture(scope="session")
def memory_folder() -> Iterator[Path]:
    """Where there is one, a disk in memory: clients wait for the disk after every row."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unembed-stores-", dir=room) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def stores(memory_folder: Path) -> Iterator[Stores]:
    with ExitStack() as exits:
        yield Stores(memory_folder, exits)


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of these tests: PostgreSQL's password, and nothing of the developer's own."""
    for name in ("QDRANT_API_KEY", "CHROMA_API_KEY", "REDIS_PASSWORD", "REDISCLI_AUTH", "MILVUS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", servers.PASSWORD)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
