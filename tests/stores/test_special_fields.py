"""What stores have besides one float32 vector a row: names, several vectors, other types, other tables."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import filled_servers
import numpy as np
import pytest
from every_store import Stores
from filled import COUNT, VECTORS, WIDTH, unit

from unembed.errors import DataError, MissingExtraError, UsageError
from unembed.stores import registry
from unembed.stores.packed import guess_dtype
from unembed.stores.registry import open_store


def _vectors(address: str, **wanted: Any) -> dict[str, Any]:
    with closing(open_store(address, **wanted)) as store:
        return {row.id: row.vector for page in store.scroll() for row in page}


@pytest.mark.parametrize("kind", ["qdrant", "qdrant_server"])
class TestQdrant:
    def test_named_vectors(self, stores: Stores, kind: str) -> None:
        address = stores(kind).address.replace("#notes", "#named")
        title = _vectors(address, vector="title")
        np.testing.assert_allclose(title["3"], unit(VECTORS)[3], atol=1e-6)  # by cosine: kept at length 1
        body = _vectors(address, vector="body")
        assert sorted(body, key=int) == [str(row) for row in range(1, 20, 2)]  # the others have none
        np.testing.assert_allclose(body["3"], VECTORS[3], atol=2e-3)

    def test_several_names_want_a_choice(self, stores: Stores, kind: str) -> None:
        with pytest.raises(UsageError, match="2 vectors a row") as error:
            open_store(stores(kind).address.replace("#notes", "#named"))
        assert "--vector: title, body" in str(error.value.hint)

    @pytest.mark.parametrize(("name", "reason"), [("tokens", "several vectors"), ("words", "sparse")])
    def test_what_is_no_single_dense_vector_is_refused(
        self, stores: Stores, kind: str, name: str, reason: str
    ) -> None:
        with pytest.raises(UsageError, match=reason) as error:
            open_store(stores(kind).address.replace("#notes", "#named"), vector=name)
        assert "title, body" in str(error.value.hint)

    def test_texts_in_nested_payloads(self, stores: Stores, kind: str) -> None:
        address = stores(kind).address.replace("#notes", "#named")
        with closing(open_store(address, vector="title", text_field="metadata.title")) as store:
            assert {row.id: row.text for page in store.scroll() for row in page}["3"] == "Title 3"
            assert store.describe().text_fields == ("metadata.title",)

    def test_an_alias(self, stores: Stores, kind: str) -> None:
        with closing(open_store(stores(kind).address.replace("#notes", "#current"))) as store:
            assert store.describe().collection == "notes"

    def test_no_collection_named(self, stores: Stores, kind: str) -> None:
        with pytest.raises(UsageError, match="3 collections") as error:
            open_store(stores(kind).address.partition("#")[0])
        assert "named, none, notes" in str(error.value.hint)


class _Exploit:
    def __reduce__(self) -> Any:
        return (eval, ("open('/tmp/owned', 'w')",))


def test_a_pickle_in_a_qdrant_folder_runs_no_code(tmp_path: Path) -> None:
    folder = tmp_path / "collection" / "bad"
    folder.mkdir(parents=True)
    meta = '{"collections": {"bad": {"vectors": {"size": 2, "distance": "Dot"}}}, "aliases": {}}'
    (tmp_path / "meta.json").write_text(meta)
    with closing(sqlite3.connect(folder / "storage.sqlite")) as database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        database.execute("INSERT INTO points VALUES ('1', ?)", (pickle.dumps(_Exploit()),))
        database.commit()
    with pytest.raises(DataError, match=r"builtins\.eval, which is refused"):
        open_store(f"qdrant:{tmp_path}#bad")


@pytest.mark.parametrize(
    ("column", "expected", "tolerance"),
    [("half", VECTORS, 2e-3), ("plain", VECTORS, 1e-6)],
)
def test_columns_of_postgres(stores: Stores, column: str, expected: Any, tolerance: float) -> None:
    found = _vectors(stores("pgvector").address.partition("&")[0], vector=column)
    np.testing.assert_allclose(found["5"], expected[5], atol=tolerance)
    assert len(found) == COUNT


def test_columns_of_postgres_are_listed_and_must_agree(stores: Stores) -> None:
    address = stores("pgvector").address
    with pytest.raises(UsageError, match="The address names the column 'vector'"):
        open_store(address, vector="half")
    with pytest.raises(UsageError, match="sparse"):
        open_store(address.replace("column=vector", "column=sparse"))
    with closing(open_store(address)) as store:
        info = store.describe()
    kinds = {field.name: (field.dtype, field.metric) for field in info.vectors}
    assert kinds["half"] == ("float16", None)
    assert kinds["vector"] == ("float32", "cosine")
    assert info.metadata == {"comment": "made with minilm"}


def test_a_table_of_postgres_without_vectors(stores: Stores) -> None:
    address = stores("pgvector").address
    database = filled_servers.superuser(stores.running["pgvector"])
    database.execute("CREATE TABLE IF NOT EXISTS words (word text)")
    with pytest.raises(UsageError, match="'words' has no column of vectors") as error:
        open_store(address.replace("table=notes&column=vector", "table=words"))
    assert "word" in str(error.value.hint)
    database.close()


class TestSqliteVec:
    def test_whole_numbers_and_bits(self, stores: Stores) -> None:
        address = stores("sqlite_vec").address
        small = _vectors(address, vector="small")
        np.testing.assert_array_equal(small["5"], np.clip(np.round(VECTORS[5] * 40), -128, 127))
        with pytest.raises(UsageError, match="binary"):
            open_store(address, vector="bits")

    def test_an_ordinary_table(self, stores: Stores) -> None:
        with closing(open_store(stores("sqlite_vec").address.replace("#notes", "#plain"))) as store:
            info = store.describe()
            assert (info.vector.name, info.vector.dtype, info.vector.dimension) == (
                "embedding",
                "float32",
                WIDTH,
            )
            assert info.text_field == "body"
            assert sum(len(page) for page in store.scroll()) == COUNT

    def test_texts_of_another_table(self, stores: Stores) -> None:
        address = stores("sqlite_vec").address
        with closing(open_store(address, vector="vector", text_field="plain.body")) as store:
            assert {row.id: row.text for page in store.scroll() for row in page}["9"] == "body 9"

    def test_a_write_ahead_log_is_read_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "log.db"
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
            rows = [(row, f"text {row}", VECTORS[row].tobytes()) for row in range(9)]
            database.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
            database.commit()
            before = {file: file.read_bytes() for file in tmp_path.iterdir()}
            assert before[tmp_path / "log.db-wal"]
            assert len(_vectors(f"sqlite-vec:{path}")) == 9  # while it is open elsewhere
            assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
        assert len(_vectors(f"sqlite-vec:{path}")) == 9  # closed: the log is gone
        assert list(tmp_path.iterdir()) == [path]


def test_types_of_duckdb(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute(
            "CREATE TABLE t AS SELECT range AS nr, 'doc ' || range AS passage, "
            "[range::TINYINT, 1::TINYINT, -5::TINYINT] AS small, [range::DOUBLE, 0.5] AS large FROM range(4)"
        )
        database.execute("CREATE VIEW v AS SELECT large, passage FROM t")
    address = f"duckdb:{tmp_path / 'v.duckdb'}#"
    with closing(open_store(f"{address}t", vector="small")) as store:
        rows = [row for page in store.scroll() for row in page]
        info = store.describe()
    assert [row.vector.tolist() for row in rows] == [[row, 1, -5] for row in range(4)]
    assert [row.id for row in rows] == ["0", "1", "2", "3"]
    assert (info.vector.dtype, info.vector.dimension, info.text_field) == ("int8", 3, "passage")
    assert [vector.tolist() for vector in _vectors(f"{address}v").values()] == [
        [row, 0.5] for row in range(4)
    ]


def test_a_duckdb_file_that_is_being_written_is_said_to_be(tmp_path: Path) -> None:
    import subprocess
    import sys

    import duckdb

    path = tmp_path / "v.duckdb"
    duckdb.connect(str(path)).close()
    hold = f"import duckdb; d = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold], **pipes) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Exception, match="open for writing in another process"):
            open_store(f"duckdb:{path}")
        other.communicate(b"\n")


def test_vectors_of_different_dimensions_are_refused(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute(
            "CREATE TABLE t (id INT, v FLOAT[]); INSERT INTO t VALUES (1, [1, 2]), (2, [1, 2, 3])"
        )
    with pytest.raises(DataError, match="different dimensions"):
        _vectors(f"duckdb:{tmp_path / 'v.duckdb'}")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("scale", [1.0, "unit", 20.0])
def test_the_type_of_packed_vectors_is_told_from_their_bytes(dtype: str, scale: Any) -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 384))
    vectors = unit(vectors) if scale == "unit" else vectors * scale
    assert guess_dtype([vector.astype(dtype).tobytes() for vector in vectors]) == dtype
    vectors[:, 7] *= 1e-4 if dtype == "float16" else 1e-33  # as a dimension of all-MiniLM-L6-v2
    assert guess_dtype([vector.astype(dtype).tobytes() for vector in vectors]) == dtype


def test_bytes_that_are_no_vectors_are_told_too() -> None:
    assert guess_dtype([bytes(range(7))]) is None
    assert guess_dtype([np.random.default_rng(0).bytes(1000) for _ in range(5)]) is None


def test_redis_hashes_of_other_types(stores: Stores) -> None:
    address = stores("redis").address.partition("#")[0]
    client = filled_servers.redis_client(stores.running["redis"])
    for row in range(20):
        small = np.clip(np.round(VECTORS[row] * 40), -128, 127).astype(np.int8)
        client.hset(f"half:{row}", mapping={"v": VECTORS[row].astype(np.float16).tobytes()})
        client.hset(f"small:{row}", mapping={"v": small.tobytes(), "content": "x"})
    np.testing.assert_allclose(_vectors(f"{address}#half:")["half:3"], VECTORS[3], atol=2e-3)
    found = _vectors(f"{address}?dtype=int8#small:", vector="v")
    np.testing.assert_array_equal(found["small:3"], np.round(VECTORS[3] * 40))
    with pytest.raises(UsageError, match="no type 'int9'"):
        open_store(f"{address}?dtype=int9#small:", vector="v")
    client.delete(*[f"{kind}:{row}" for kind in ("half", "small") for row in range(20)])


def test_fields_of_milvus(tmp_path: Path) -> None:
    from filled import release_milvus
    from pymilvus import DataType, MilvusClient

    path = tmp_path / "m.db"
    client = MilvusClient(str(path))
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=20)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=WIDTH)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("body", DataType.VARCHAR, max_length=50)
    indexes = client.prepare_index_params()
    indexes.add_index("dense", index_type="AUTOINDEX", metric_type="COSINE")
    indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection("notes", schema=schema, index_params=indexes)
    rows = [
        {"key": f"k{row}", "dense": VECTORS[row].tolist(), "words": {1: 0.5}, "body": "b"}
        for row in range(30)
    ]
    client.insert("notes", rows)
    client.close()
    release_milvus(path)
    with closing(open_store(f"milvus:{path}")) as store:
        info = store.describe()
        found = {row.id: row for page in store.scroll(8) for row in page}
        with pytest.raises(UsageError, match="sparse"):
            open_store(f"milvus:{path}", vector="words")
    assert (info.vector.name, info.vector.dtype, info.text_field) == ("dense", "float32", "body")
    np.testing.assert_array_equal(found["k7"].vector, VECTORS[7])
    assert len(found) == 30


def test_types_of_a_milvus_server_that_milvus_lite_does_not_have() -> None:
    from unembed.stores.milvus_store import decoded

    some = np.array([1.0, -2.5, 96.0], np.float32)
    assert decoded([some.astype(np.float16).tobytes()], "float16").tolist() == some.tolist()
    assert (
        decoded((some.view(np.uint32) >> 16).astype(np.uint16).tobytes(), "bfloat16").tolist()
        == some.tolist()
    )
    assert decoded(np.array([1, -2, 96], np.int8).tobytes(), "int8").tolist() == [1, -2, 96]


def test_what_chroma_says_about_the_encoder(stores: Stores) -> None:
    with closing(open_store(stores("chroma").address, text_field="title")) as store:
        assert store.describe().metadata["model"] == "minilm"
        assert {row.id: row.text for page in store.scroll() for row in page}["4"] == "Title 4"


def test_several_queries_of_lancedb_are_one_reading(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unembed.stores.lancedb_store._AHEAD", 64)
    assert sorted(_vectors(stores("lancedb").address), key=int) == [str(row) for row in range(COUNT)]


def test_multivectors_of_lancedb_are_refused(stores: Stores) -> None:
    with pytest.raises(UsageError, match="several vectors"):
        open_store(stores("lancedb").address, vector="tokens")


def test_a_copy_is_removed(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = stores("chroma").address
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = open_store(address)
    assert list(tmp_path.iterdir())
    store.close()
    with pytest.raises(UsageError, match="no collection"):
        open_store(address + "s")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("qdrant://h#a", "qdrant_client", "qdrant"),
        ("chroma://h#a", "chromadb", "chroma"),
        ("lancedb:.#a", "lancedb", "lancedb"),
        ("pgvector://h/a", "psycopg", "pgvector"),
        ("milvus://h#a", "pymilvus", "milvus"),
        ("sqlite-vec:x.db#a", "apsw", "sqlite-vec"),
        ("duckdb:x.db#a", "duckdb", "duckdb"),
        ("redis://h#a", "redis", "redis"),
        ("x.faiss", "faiss", "faiss"),
    ],
)
def test_a_missing_client_is_named_with_its_command(
    address: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as error:
        open_store(address)
    assert error.value.hint == f"Install it with: pip install 'unembed[{extra}]'"
    assert address.partition(":")[0] in registry.KINDS or address == "x.faiss"
