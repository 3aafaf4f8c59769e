"""Real stores, filled with the same vectors and texts: one builder each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COUNT, WIDTH = 200, 12
VECTORS = np.random.default_rng(0).normal(size=(COUNT, WIDTH)).astype(np.float32)
# Some rows have no text: stores differ in how they say so.
TEXTS: list[str | None] = [None if row % 50 == 7 else f"Note {row} says: grüße, 你好" for row in range(COUNT)]


@dataclass(frozen=True)
class Content:
    """What a store is filled with, and the model that its metadata names, where it has any."""

    vectors: Any
    texts: list[str | None]
    model: str = "minilm"

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def ids(self) -> list[str]:
        return [str(row) for row in range(len(self.texts))]


NOTES = Content(VECTORS, TEXTS)


@dataclass(frozen=True)
class Filled:
    """A store of one kind, and what its reader must find there."""

    kind: str
    address: str
    collection: str | None = "notes"
    vector: str | None = None  # to ask for; None: there is only one
    vector_name: str = ""
    dtype: str = "float32"
    metric: str | None = None
    text_field: str | None = "text"
    ids: list[str] = field(default_factory=lambda: NOTES.ids)
    vectors: Any = field(default_factory=lambda: VECTORS)
    tolerance: float = 1e-6
    counted: bool = True
    elsewhere: str | None = None  # the address of a collection that is not there
    empty: str | None = None  # the address of an empty collection
    files: Path | None = None  # that must not change
    fingerprint: Callable[[], Any] = lambda: None  # what a server holds, and what it was asked


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def npy(folder: Path, content: Content = NOTES) -> Filled:
    np.save(folder / "v.npy", content.vectors)
    np.save(folder / "none.npy", content.vectors[:0])
    return Filled(
        "file", str(folder / "v.npy"), None, text_field=None, files=folder, empty=str(folder / "none.npy")
    )


def npz(folder: Path, content: Content = NOTES) -> Filled:
    np.savez(
        folder / "v.npz", embeddings=content.vectors, text=np.array([text or "" for text in content.texts])
    )
    return Filled("file", str(folder / "v.npz"), None, vector_name="embeddings", files=folder)


def safetensors(folder: Path, content: Content = NOTES) -> Filled:
    from safetensors.numpy import save_file

    save_file(
        {"half": content.vectors.astype(np.float16)},
        folder / "v.safetensors",
        metadata={"model": content.model},
    )
    return Filled(
        "file", str(folder / "v.safetensors"), None, vector_name="half", dtype="float16", text_field=None,
        tolerance=2e-3, files=folder,
    )  # fmt: skip


def jsonl(folder: Path, content: Content = NOTES) -> Filled:
    lines = [
        json.dumps({"id": row, "text": content.texts[row], "embedding": content.vectors[row].tolist()})
        for row in range(len(content.texts))
    ]
    lines.append(json.dumps({"id": "no vector", "text": "x", "embedding": None}))
    (folder / "v.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Filled(
        "file", str(folder / "v.jsonl"), None, vector_name="embedding", dtype="float64", files=folder
    )


def parquet(folder: Path, content: Content = NOTES) -> Filled:
    import pyarrow as pa
    from pyarrow import parquet as pq

    def write(name: str, rows: list[int]) -> str:
        table = pa.table(
            {
                "_id": pa.array([content.ids[row] for row in rows], pa.string()),
                "text": pa.array([content.texts[row] for row in rows], pa.string()),
                "vector": pa.array([content.vectors[row].tolist() for row in rows], pa.list_(pa.float32())),
            }
        )
        pq.write_table(table, folder / name, row_group_size=70)
        return str(folder / name)

    whole, none = write("v.parquet", list(range(len(content.texts)))), write("none.parquet", [])
    return Filled("file", whole, None, vector_name="vector", files=folder, empty=none)


def faiss(folder: Path, content: Content = NOTES) -> Filled:
    import faiss

    index = faiss.IndexIDMap(faiss.IndexFlatIP(content.width))
    index.add_with_ids(content.vectors, np.arange(len(content.texts)))
    faiss.write_index(index, str(folder / "v.faiss"))
    faiss.write_index(faiss.IndexFlatIP(content.width), str(folder / "none.faiss"))
    return Filled(
        "faiss", f"faiss:{folder / 'v.faiss'}", None, metric="dot", text_field=None, files=folder,
        empty=str(folder / "none.faiss"),
    )  # fmt: skip


def qdrant_points(client: Any, content: Content = NOTES) -> None:
    """Two collections: one vector a point, and several by name (one of them per token, one sparse)."""
    from qdrant_client import models

    plain = models.VectorParams(size=content.width, distance=models.Distance.EUCLID)
    client.create_collection("notes", vectors_config=plain)
    client.create_collection("none", vectors_config=plain)
    client.upsert(
        "notes",
        [
            models.PointStruct(
                id=row, vector=content.vectors[row].tolist(), payload={"page_content": content.texts[row]}
            )
            for row in range(len(content.texts))
        ],
    )
    several = {
        "title": models.VectorParams(size=content.width, distance=models.Distance.COSINE),
        "body": models.VectorParams(
            size=content.width, distance=models.Distance.DOT, datatype=models.Datatype.FLOAT16
        ),
        "tokens": models.VectorParams(
            size=content.width,
            distance=models.Distance.COSINE,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        ),
    }
    client.create_collection(
        "named", vectors_config=several, sparse_vectors_config={"words": models.SparseVectorParams()}
    )
    client.upsert(
        "named",
        [
            models.PointStruct(
                id=row,
                vector={
                    "title": content.vectors[row].tolist(),
                    "tokens": [content.vectors[row].tolist()] * 2,
                    "words": models.SparseVector(indices=[row], values=[1.0]),
                    **({"body": content.vectors[row].tolist()} if row % 2 else {}),
                },
                payload={"metadata": {"title": f"Title {row}"}},
            )
            for row in range(20)
        ],
    )
    client.update_collection_aliases(
        [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name="notes", alias_name="current")
            )
        ]
    )


def qdrant(folder: Path, content: Content = NOTES) -> Filled:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(folder / "qdrant"))
    qdrant_points(client, content)
    client.close()
    address = f"qdrant:{folder / 'qdrant'}#"
    return Filled(
        "qdrant", f"{address}notes", metric="l2", text_field="page_content", files=folder,
        elsewhere=f"{address}nots", empty=f"{address}none",
    )  # fmt: skip


def chroma(folder: Path, content: Content = NOTES) -> Filled:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "notes", metadata={"model": content.model}, configuration={"hnsw": {"space": "cosine"}},
        embedding_function=None,
    )  # fmt: skip
    collection.add(
        ids=content.ids, embeddings=content.vectors, documents=[text or "" for text in content.texts],
        metadatas=[{"title": f"Title {row}"} for row in range(len(content.texts))],
    )  # fmt: skip
    client.create_collection("none", embedding_function=None)
    client.close()
    address = f"chroma:{folder / 'chroma'}#"
    return Filled(
        "chroma", f"{address}notes", vector_name="embedding", metric="cosine", text_field="document",
        files=folder, elsewhere=f"{address}nots", empty=f"{address}none",
    )  # fmt: skip


def lancedb(folder: Path, content: Content = NOTES) -> Filled:
    import lancedb
    import pyarrow as pa

    database = lancedb.connect(str(folder / "lance"))
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("vector", pa.list_(pa.float16(), content.width)),
            pa.field("tokens", pa.list_(pa.list_(pa.float32(), content.width))),
        ]
    )
    columns = [
        pa.array(range(len(content.texts))),
        pa.array(content.texts, pa.string()),
        pa.array(list(content.vectors.astype(np.float16)), pa.list_(pa.float16(), content.width)),
        pa.array(
            [[content.vectors[row].tolist()] for row in range(len(content.texts))],
            pa.list_(pa.list_(pa.float32(), content.width)),
        ),
    ]
    database.create_table("notes", pa.table(columns, schema=schema))
    database.create_table("none", schema=schema)
    address = f"lancedb:{folder / 'lance'}#"
    return Filled(
        "lancedb", f"{address}notes", vector_name="vector", dtype="float16", tolerance=2e-3, files=folder,
        elsewhere=f"{address}nots", empty=f"{address}none",
    )  # fmt: skip


def duckdb(folder: Path, content: Content = NOTES) -> Filled:
    import duckdb

    with duckdb.connect(str(folder / "v.duckdb")) as database:
        database.execute("BEGIN")
        for table in ("notes", "none"):
            database.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, text VARCHAR, vector FLOAT[{content.width}])"
            )
        rows = [(row, content.texts[row], content.vectors[row].tolist()) for row in range(len(content.texts))]
        database.executemany(
            "INSERT INTO notes VALUES (?, ?, ?)", [*rows, (len(content.texts), "no vector", None)]
        )
        database.execute(f"COMMENT ON TABLE notes IS 'made with {content.model}'")
        database.execute("COMMIT")
    address = f"duckdb:{folder / 'v.duckdb'}#"
    return Filled(
        "duckdb", f"{address}notes", vector_name="vector", files=folder, elsewhere=f"{address}nots",
        empty=f"{address}none",
    )  # fmt: skip


def sqlite_vec(folder: Path, content: Content = NOTES) -> Filled:
    import apsw
    import sqlite_vec

    database = apsw.Connection(str(folder / "v.db"))
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    small = np.clip(np.round(content.vectors * 40), -128, 127).astype(np.int8)
    with database:
        for table in ("notes", "none"):
            database.execute(
                f"CREATE VIRTUAL TABLE {table} USING vec0(id INTEGER PRIMARY KEY, "
                f"vector float[{content.width}] distance_metric=cosine, small int8[{content.width}], "
                "bits bit[16], +text TEXT)"
            )
        database.executemany(
            "INSERT INTO notes(id, vector, small, bits, text) VALUES (?, ?, vec_int8(?), vec_bit(?), ?)",
            [
                (row, content.vectors[row].tobytes(), small[row].tobytes(), b"ab", content.texts[row] or "")
                for row in range(len(content.texts))
            ],
        )
        database.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT, embedding BLOB)")
        database.executemany(
            "INSERT INTO plain VALUES (?, ?, ?)",
            [(row, f"body {row}", content.vectors[row].tobytes()) for row in range(len(content.texts))],
        )
    database.close()
    address = f"sqlite-vec:{folder / 'v.db'}#"
    return Filled(
        "sqlite-vec", f"{address}notes", vector="vector", vector_name="vector", metric="cosine", files=folder,
        elsewhere=f"{address}nots", empty=f"{address}none",
    )  # fmt: skip


def milvus(folder: Path, content: Content = NOTES) -> Filled:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "milvus.db"))
    for name in ("notes", "none"):
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=content.width)
        indexes = client.prepare_index_params()
        indexes.add_index("vector", index_type="AUTOINDEX", metric_type="IP")
        client.create_collection(name, schema=schema, index_params=indexes)
    rows = [
        {"id": row, "vector": content.vectors[row].tolist(), "text": content.texts[row] or ""}
        for row in range(len(content.texts))
    ]
    client.insert("notes", rows)
    client.close()
    release_milvus(folder / "milvus.db")
    address = f"milvus:{folder / 'milvus.db'}#"
    return Filled(
        "milvus", f"{address}notes", vector_name="vector", metric="dot", files=folder,
        elsewhere=f"{address}nots", empty=f"{address}none",
    )  # fmt: skip


def release_milvus(path: Path) -> None:
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(str(path))
