"""Files of vectors, written again with other vectors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from unembed.errors import DataError, UsageError
from unembed.progress import SilentProgress
from unembed.vectors import rewritten
from unembed.vectors.arrays import Floats
from unembed.vectors.files import open_vectors
from unembed.vectors.rewritten import check_output, rewrite_vectors

VECTORS = np.random.default_rng(0).normal(size=(25, 6)).astype(np.float32)
TEXTS = [f"text {number}, é" for number in range(25)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewritten, "BLOCK", 10)


def shorter(vectors: Floats) -> Floats:
    return -vectors[:, :4]


def make(path: Path, vectors: Floats = VECTORS) -> Path:
    """A file with vectors and other things."""
    if path.suffix == ".npy":
        np.save(path, vectors)
    elif path.suffix == ".npz":
        np.savez(path, texts=np.array(TEXTS), vectors=vectors, years=np.arange(25))
    elif path.suffix == ".safetensors":
        tensors = {"a": np.arange(3), "vectors": vectors, "z": np.arange(5.0)}
        save_file(tensors, path, metadata={"encoder": "toy"})
    elif path.suffix == ".parquet":
        kind = pa.list_(pa.float64(), 6 if path.stem == "fixed" else -1)
        columns = {"id": pa.array(range(25)), "vector": pa.array(list(vectors.astype(float)), kind)}
        table = pa.table({**columns, "text": TEXTS}).replace_schema_metadata({"encoder": "toy"})
        pq.write_table(table, path, row_group_size=7)
    else:
        records = [
            {"id": n, "vector": [float(x) for x in v], "text": t}
            for n, (v, t) in enumerate(zip(vectors, TEXTS, strict=True))
        ]
        lines = "\n".join(json.dumps(record) for record in records).encode()
        path.write_bytes(gzip.compress(lines) if path.stem == "zipped" else lines)
    return path


@pytest.mark.parametrize(
    "name", ["a.npy", "a.npz", "a.safetensors", "a.parquet", "fixed.parquet", "a.jsonl", "zipped.jsonl"]
)
def test_vectors_change_and_the_rest_stays(name: str, tmp_path: Path) -> None:
    source, output = make(tmp_path / name), tmp_path / f"out{Path(name).suffix}"
    before = source.read_bytes()
    field = "vectors" if name == "a.safetensors" else None
    assert rewrite_vectors(source, output, shorter, progress=SilentProgress(), field=field) == 25
    read = np.concatenate(list(open_vectors(output, field=field).blocks()))
    np.testing.assert_array_equal(read, shorter(VECTORS))
    assert source.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {name, output.name}
    check_the_rest(output)


def check_the_rest(output: Path) -> None:
    if output.suffix == ".npz":
        with np.load(output) as archive:
            assert list(archive["texts"]) == TEXTS
            assert list(archive["years"]) == list(range(25))
    elif output.suffix == ".safetensors":
        with safe_open(output, framework="np") as file:
            assert file.metadata() == {"encoder": "toy"}
            assert list(file.get_tensor("a")) == [0, 1, 2]
            assert list(file.get_tensor("z")) == [0, 1, 2, 3, 4]
    elif output.suffix == ".parquet":
        table = pq.read_table(output)
        assert table.column_names == ["id", "vector", "text"]
        assert table["text"].to_pylist() == TEXTS
        assert table.schema.metadata[b"encoder"] == b"toy"
        assert table.schema.field("vector").type.value_type == pa.float32()
    elif output.suffix == ".jsonl":
        records = [json.loads(line) for line in output.read_text().splitlines()]
        assert [record["text"] for record in records] == TEXTS
        assert [record["id"] for record in records] == list(range(25))


def test_the_vectors_alone_can_go_to_npy(tmp_path: Path) -> None:
    source = make(tmp_path / "a.parquet")
    rewrite_vectors(source, tmp_path / "out.npy", shorter, progress=SilentProgress())
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), shorter(VECTORS))


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".jsonl"])
def test_a_row_that_is_no_vector_is_named_and_nothing_is_written(suffix: str, tmp_path: Path) -> None:
    bad = VECTORS.copy()
    bad[13] = np.nan
    source = make(tmp_path / f"a{suffix}", bad)
    with pytest.raises(DataError, match=r"row 13, has no vector"):
        rewrite_vectors(source, tmp_path / f"out{suffix}", shorter, progress=SilentProgress())
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_missing_vector_is_named(suffix: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"vector": [1.0, 2.0]}] * 11 + [{"vector": None}]
    source = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), source)
    else:
        source.write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(DataError, match=r"row 11, has no vector"):
        rewrite_vectors(source, tmp_path / f"out{suffix}", lambda block: block, progress=SilentProgress())


def test_an_interrupted_one_leaves_nothing_and_starts_again(tmp_path: Path) -> None:
    source, output = make(tmp_path / "a.npy"), tmp_path / "out.npy"
    calls = 0

    def stop(vectors: Floats) -> Floats:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return vectors

    with pytest.raises(KeyboardInterrupt):
        rewrite_vectors(source, output, stop, progress=SilentProgress())
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
    assert rewrite_vectors(source, output, shorter, progress=SilentProgress()) == 25


def test_what_must_be_kept_is_kept_before_the_output_appears(tmp_path: Path) -> None:
    output = tmp_path / "out.npy"
    seen: list[bool] = []
    rewrite_vectors(
        make(tmp_path / "a.npy"),
        output,
        shorter,
        progress=SilentProgress(),
        finish=lambda: seen.append(output.exists()),
    )
    assert seen == [False]


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    source = make(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="the input itself"):
        check_output(source, tmp_path / "." / "a.parquet")
    with pytest.raises(UsageError, match=r"ends in .parquet or .npy"):
        check_output(source, tmp_path / "a.jsonl")
    (tmp_path / "there.npy").touch()
    with pytest.raises(UsageError, match="already there"):
        check_output(source, tmp_path / "there.npy")
