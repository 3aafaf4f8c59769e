"""Servers that are not there, want a password, fail now and then, or die in the middle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import filled_servers
import pytest
import servers
from every_store import Stores, in_memory
from filled import COUNT
from qdrant_over_http import QdrantOverHttp
from servers import PASSWORD, free_port

from unembed.errors import UnavailableError, UsageError
from unembed.stores import connection
from unembed.stores.registry import open_store


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PAUSE", 0.01)


@pytest.fixture
def qdrant() -> Iterator[QdrantOverHttp]:
    with QdrantOverHttp(in_memory()).running() as server:
        yield server


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "milvus", "pgvector", "redis"])
def test_nobody_answers(kind: str) -> None:
    address = f"{kind}://127.0.0.1:{free_port()}" + {"pgvector": "/a", "redis": "/0"}.get(kind, "#a")
    with pytest.raises(UnavailableError, match="does not answer") as error:
        open_store(address, timeout=2)
    assert address in str(error.value)
    assert "host and port" in str(error.value.hint)


def test_a_server_that_fails_now_and_then_is_asked_again(qdrant: QdrantOverHttp) -> None:
    qdrant.troubles = [503, 0]
    with closing(open_store(f"qdrant://127.0.0.1:{qdrant.port}#notes")) as store:
        pages = store.scroll(50)
        rows = list(next(pages))
        qdrant.troubles = [429, 500]
        rows += [row for page in pages for row in page]
    assert len({row.id for row in rows}) == COUNT


def test_a_qdrant_server_that_dies_in_the_middle(qdrant: QdrantOverHttp) -> None:
    with closing(open_store(f"qdrant://127.0.0.1:{qdrant.port}#notes")) as store:
        qdrant.scrolls_left = 2
        pages = store.scroll(50)
        next(pages), next(pages)
        with pytest.raises(UnavailableError, match="stopped answering after 100 rows"):
            next(pages)


def test_a_server_that_takes_too_long(qdrant: QdrantOverHttp) -> None:
    qdrant._lock.acquire()  # it accepts connections, and never answers
    begun = time.monotonic()
    try:
        with pytest.raises(UnavailableError, match="does not answer"):
            open_store(f"qdrant://127.0.0.1:{qdrant.port}#notes", timeout=1)
    finally:
        qdrant._lock.release()
    assert time.monotonic() - begun < 30


def test_another_server_is_not_taken_for_qdrant(qdrant: QdrantOverHttp) -> None:
    with pytest.raises(UsageError, match="status 404") as error:
        open_store(f"qdrant://127.0.0.1:{qdrant.port}/elsewhere#notes")
    assert "6333" in str(error.value.hint)


def test_a_qdrant_server_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with QdrantOverHttp(in_memory(), key=PASSWORD).running() as server:
        address = f"qdrant://127.0.0.1:{server.port}#notes"
        with pytest.raises(UnavailableError, match="missing credentials") as error:
            open_store(address)
        assert error.value.hint == "Set QDRANT_API_KEY."
        monkeypatch.setenv("QDRANT_API_KEY", "another-one")
        with pytest.raises(UnavailableError, match="given credentials") as error:
            open_store(address)
        assert error.value.hint == "Check QDRANT_API_KEY."
        assert "another-one" not in str(error.value)
        monkeypatch.setenv("QDRANT_API_KEY", PASSWORD)
        with pytest.warns(UserWarning, match="insecure"):
            store = open_store(address)
        assert store.count() == COUNT
        assert PASSWORD not in repr(store.describe())
        store.close()


def test_a_redis_server_with_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.redis_server(tmp_path, password=True) as running:
        client = filled_servers.redis_client(running, password=PASSWORD)
        client.hset("doc:1", mapping={"vector": b"\0\0\x80?" * 8, "text": "one"})
        address = f"redis://127.0.0.1:{running.port}/0#doc:"
        with pytest.raises(UnavailableError, match="missing credentials") as error:
            open_store(address)
        assert error.value.hint == "Set REDIS_PASSWORD."
        monkeypatch.setenv("REDIS_PASSWORD", "wrong-one")
        with pytest.raises(UnavailableError, match="given credentials"):
            open_store(address)
        # Whoever may only read, and only these keys, can.
        rules = ["on", f">{PASSWORD}", "~doc:*", "+@read", "+@connection", "-@dangerous"]
        client.execute_command("ACL", "SETUSER", "reader", *rules)
        monkeypatch.setenv("REDIS_PASSWORD", PASSWORD)
        with closing(open_store(address.replace("127.0.0.1", "reader@127.0.0.1"))) as store:
            assert [row.text for page in store.scroll() for row in page] == ["one"]


def test_a_redis_server_that_dies_in_the_middle(tmp_path: Path) -> None:
    with servers.redis_server(tmp_path) as running:
        found = filled_servers.redis(running)
        with closing(open_store(found.address)) as store:
            pages = store.scroll(20)
            next(pages)
            running.stop()
            with pytest.raises(UnavailableError, match="stopped answering after"):
                list(pages)


def test_a_chroma_server_that_dies_in_the_middle(tmp_path: Path) -> None:
    import filled

    filled.chroma(tmp_path)
    with servers.chroma_server(tmp_path / "chroma", tmp_path) as running:
        store = open_store(f"chroma://127.0.0.1:{running.port}#notes")
        pages = store.scroll(50)
        next(pages)
        running.stop()
        with pytest.raises(UnavailableError, match="stopped answering after 50 rows"):
            list(pages)
        store.close()


def test_a_milvus_server_that_dies_in_the_middle(tmp_path: Path) -> None:
    import filled

    filled.milvus(tmp_path)
    with servers.milvus_server(tmp_path / "milvus.db", tmp_path) as running:
        address = filled_servers.milvus(running).address
        store = open_store(address, timeout=2)
        pages = store.scroll(50)
        next(pages)
        running.stop()
        with pytest.raises(UnavailableError, match="stopped answering after 50 rows"):
            list(pages)
        store.close()


def test_a_collection_of_milvus_that_is_not_loaded_stays_so(tmp_path: Path) -> None:
    import filled

    filled.milvus(tmp_path)
    with (
        servers.milvus_server(tmp_path / "milvus.db", tmp_path) as running,
        pytest.raises(UnavailableError, match="not loaded"),
    ):
        open_store(f"milvus://127.0.0.1:{running.port}#notes")


class TestPostgres:
    """A real PostgreSQL with passwords, and a user who may only SELECT."""

    def test_the_session_is_read_only(self, stores: Stores) -> None:
        import psycopg

        store = open_store(stores("pgvector").address)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            store._connection.execute("CREATE TABLE mine AS SELECT 1")
        store.close()

    def test_even_the_owner_writes_nothing(self, stores: Stores) -> None:
        import psycopg

        address = stores("pgvector").address.replace("reader@", "postgres@")
        with closing(open_store(address)) as store:
            assert store.count() == COUNT + 1
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                store._connection.execute("DELETE FROM notes")

    def test_a_wrong_password(self, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PGPASSWORD", "another-one")
        with pytest.raises(UnavailableError, match="refused the user or the password") as error:
            open_store(stores("pgvector").address)
        assert "PGPASSWORD" in str(error.value.hint)
        assert "another-one" not in str(error.value)

    def test_the_password_of_a_file(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        address = stores("pgvector").address
        monkeypatch.delenv("PGPASSWORD")
        with pytest.raises(UnavailableError, match="password"):
            open_store(address)
        (tmp_path / "pgpass").write_text(f"*:*:*:reader:{PASSWORD}\n")
        (tmp_path / "pgpass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
        with closing(open_store(address)) as store:
            assert store.count() == COUNT + 1

    def test_a_database_that_is_not_there(self, stores: Stores) -> None:
        with pytest.raises(UsageError, match='database "nowhere" does not exist'):
            open_store(stores("pgvector").address.replace("/postgres?", "/nowhere?"))

    def test_a_table_that_may_not_be_read(self, stores: Stores) -> None:
        address = stores("pgvector").address.replace("table=notes", "table=secret")
        with (
            closing(open_store(address)) as store,
            pytest.raises(UnavailableError, match="may not read") as error,
        ):
            list(store.scroll())
        assert "GRANT SELECT" in str(error.value.hint)

    def test_it_dies_in_the_middle(self, stores: Stores) -> None:
        database = filled_servers.superuser(_running(stores))
        with closing(open_store(stores("pgvector").address)) as store:
            pages = store.scroll(50)
            next(pages)
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'"
            )
            with pytest.raises(UnavailableError, match="stopped answering after 50 rows"):
                list(pages)
        database.close()

    def test_an_answer_that_takes_too_long(self, stores: Stores) -> None:
        database = filled_servers.superuser(_running(stores))
        database.execute(
            "CREATE OR REPLACE VIEW slow AS SELECT id, text, vector FROM notes WHERE pg_sleep(5) IS NOT NULL"
        )
        database.execute("GRANT SELECT ON slow TO reader")
        address = stores("pgvector").address.replace("table=notes", "table=slow")
        store = open_store(address, timeout=0.5)
        with pytest.raises(UnavailableError, match="statement timeout"):
            list(store.scroll())
        store.close()
        database.execute("DROP VIEW slow")
        database.close()


def _running(stores: Stores) -> Any:
    stores("pgvector")
    return stores.running["pgvector"]


def test_reasons_are_short_and_hold_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s3cret-value")
    assert connection.one_line("a\n  s3cret-value  b") == "a *** b"
    assert len(connection.one_line("x" * 1000)) < 250
