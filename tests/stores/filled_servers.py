"""The same vectors and texts in servers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import filled
from elastic_over_http import ElasticOverHttp
from filled import NOTES, Content, Filled
from qdrant_over_http import QdrantOverHttp
from servers import PASSWORD, Running

READER = "reader"  # a user of PostgreSQL who may only SELECT
READ_COMMANDS = {"scan", "hgetall", "hmget", "select", "hello", "client|setinfo", "auth"}


def postgres(running: Running, content: Content = NOTES) -> Filled:
    """Filled by the superuser, read by a user who may only SELECT."""
    database = superuser(running)
    database.execute("CREATE EXTENSION vector")
    database.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'")
    for table in ("notes", "none"):
        database.execute(
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, text text, vector vector({content.width}), "
            f"half halfvec({content.width}), plain real[], sparse sparsevec({content.width}))"
        )
        database.execute(f"GRANT SELECT ON {table} TO {READER}")
    database.execute(
        "CREATE TABLE secret (id int, vector vector(3)); INSERT INTO secret VALUES (1, '[1,2,3]')"
    )
    with database.cursor().copy("COPY notes (id, text, vector, half, plain) FROM STDIN") as copy:
        for row in range(len(content.texts)):
            written = "[" + ",".join(str(number) for number in content.vectors[row]) + "]"
            copy.write_row((row, content.texts[row], written, written, content.vectors[row].tolist()))
        copy.write_row((len(content.texts), "no vector", None, None, None))
    database.execute("CREATE INDEX ON notes USING hnsw (vector vector_cosine_ops)")
    database.execute(f"COMMENT ON TABLE notes IS 'made with {content.model}'")
    address = f"pgvector://{READER}@127.0.0.1:{running.port}/postgres?table="

    def fingerprint() -> Any:
        return database.execute(
            "SELECT (SELECT md5(string_agg(n::text, '' ORDER BY id)) FROM notes n), "
            "(SELECT array_agg(c.oid::text || relname ORDER BY c.oid) FROM pg_class c)"
        ).fetchone()

    return Filled(
        "pgvector", f"{address}notes&column=vector", vector_name="vector", metric="cosine",
        elsewhere=f"{address}nots", empty=f"{address}none&column=vector", fingerprint=fingerprint,
    )  # fmt: skip


def superuser(running: Running) -> Any:
    import psycopg

    settings = {"host": "127.0.0.1", "port": running.port, "user": "postgres", "password": PASSWORD}
    for _ in range(600):  # it accepts connections before it has started
        try:
            return psycopg.connect(**settings, dbname="postgres", autocommit=True)
        except psycopg.OperationalError as error:
            if "starting up" not in str(error):
                raise
            time.sleep(0.1)
    raise AssertionError("PostgreSQL does not start")


def redis(running: Running, content: Content = NOTES) -> Filled:
    client = redis_client(running)
    pipe = client.pipeline()
    for row in range(len(content.texts)):
        text = content.texts[row]
        record: dict[str, Any] = {
            "vector": content.vectors[row].tobytes(),
            **({"text": text} if text else {}),
        }
        pipe.hset(f"notes:{row}", mapping=record)
    pipe.set("notes:counter", 5)
    pipe.hset("notes:no-vector", mapping={"text": "x"})
    pipe.execute()
    address = f"redis://127.0.0.1:{running.port}/0#"

    def fingerprint() -> Any:
        """Every key as Redis would dump it, and the commands that were sent: none that writes."""
        sent = set(client.info("commandstats"))
        client.config_resetstat()
        asked = {name.removeprefix("cmdstat_") for name in sent} - {
            "config|resetstat",
            "info",
            "dump",
            "scan",
        }
        return {key: client.dump(key) for key in client.scan_iter()}, asked <= READ_COMMANDS

    client.config_resetstat()
    return Filled(
        "redis", f"{address}notes:", collection="notes:", vector_name="vector", counted=False,
        ids=[f"notes:{one}" for one in content.ids], elsewhere=f"{address}nots:", fingerprint=fingerprint,
    )  # fmt: skip


def redis_client(running: Running, **settings: Any) -> Any:
    import redis

    return redis.Redis(host="127.0.0.1", port=running.port, **settings)


def chroma(running: Running, local: Filled) -> Filled:
    """The server has the files of a folder that was filled before."""
    address = f"chroma://127.0.0.1:{running.port}#"

    def fingerprint() -> Any:
        import chromadb

        collection = chromadb.HttpClient("127.0.0.1", running.port).get_collection("notes")
        found = collection.get(include=["embeddings", "documents", "metadatas"])
        return found["ids"], found["embeddings"].tolist(), found["documents"], found["metadatas"]

    return Filled(
        "chroma", f"{address}notes", vector_name="embedding", metric="cosine", text_field="document",
        elsewhere=f"{address}nots", empty=f"{address}none", fingerprint=fingerprint,
    )  # fmt: skip


def milvus(running: Running) -> Filled:
    address = f"milvus://127.0.0.1:{running.port}#"
    from pymilvus import MilvusClient

    client = MilvusClient(f"http://127.0.0.1:{running.port}")
    for name in ("notes", "none"):
        client.load_collection(name)

    def fingerprint() -> Any:
        return client.query("notes", filter="id >= 0", output_fields=["*"])

    return Filled(
        "milvus", f"{address}notes", vector_name="vector", metric="dot", elsewhere=f"{address}nots",
        empty=f"{address}none", fingerprint=fingerprint,
    )  # fmt: skip


def qdrant(server: QdrantOverHttp) -> Filled:
    address = f"qdrant://127.0.0.1:{server.port}#"

    def fingerprint() -> Any:
        """Whether it was asked for anything but what a reader asks for."""
        read = [one for one in server.requests if one[0] == "GET" or one[1].endswith(("/scroll", "/count"))]
        return len(server.requests) - len(read)

    return Filled(
        "qdrant", f"{address}notes", metric="l2", text_field="page_content", elsewhere=f"{address}nots",
        empty=f"{address}none", fingerprint=fingerprint,
    )  # fmt: skip


def elastic(server: ElasticOverHttp) -> Filled:
    kind = "opensearch" if server.opensearch else "elasticsearch"
    address = f"{kind}://127.0.0.1:{server.port}#"

    def fingerprint() -> Any:
        """Whether it was asked for anything but what a reader asks for, and what it still holds for one."""
        paths = ("/_search", "/_search/scroll")
        read = [one for one in server.requests if one[0] == "GET" or one[1].endswith(paths)]
        return len(server.requests) - len(read), sorted(server.scrolls)

    return Filled(
        kind, f"{address}notes", vector_name="vector", metric="cosine", elsewhere=f"{address}nots",
        empty=f"{address}none", fingerprint=fingerprint,
    )  # fmt: skip


def folder_of(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    return folder


LOCAL = {
    name: getattr(filled, name)
    for name in (
        "npy", "npz", "safetensors", "jsonl", "parquet", "faiss", "qdrant", "chroma", "lancedb", "duckdb",
        "sqlite_vec", "milvus",
    )
}  # fmt: skip
