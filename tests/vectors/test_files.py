"""Every format gives the same vectors, from any row on; damage is named."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file

from unembed.errors import DataError, UnembedError, UsageError
from unembed.vectors.files import open_vectors

VECTORS = np.random.default_rng(0).normal(size=(25, 6)).astype(np.float32)


def _npy(folder: Path) -> Path:
    np.save(folder / "v.npy", VECTORS)
    return folder / "v.npy"


def _npz(folder: Path) -> Path:
    np.savez(folder / "v.npz", ids=np.arange(25), embeddings=VECTORS)
    return folder / "v.npz"


def _safetensors(folder: Path) -> Path:
    save_file({"vectors": VECTORS}, folder / "v.safetensors")
    return folder / "v.safetensors"


def _json_lists(folder: Path) -> Path:
    lines = [json.dumps(row) for row in VECTORS.astype(float).tolist()]
    (folder / "v.jsonl").write_text("\n\n".join(lines), encoding="utf-8")
    return folder / "v.jsonl"


def _json_objects(folder: Path) -> Path:
    lines = [json.dumps({"id": "x", "embedding": row}) for row in VECTORS.astype(float).tolist()]
    (folder / "o.jsonl").write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder / "o.jsonl"


def _parquet(folder: Path, *, fixed: bool = False) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kind = arrow.list_(arrow.float32(), 6) if fixed else arrow.list_(arrow.float32())
    column = arrow.array(VECTORS.tolist(), type=kind)
    table = arrow.table({"id": list(range(25)), "embedding": column})
    parquet.write_table(table, folder / "v.parquet", row_group_size=10)
    return folder / "v.parquet"


def _parquet_fixed(folder: Path) -> Path:
    return _parquet(folder, fixed=True)


def _faiss(folder: Path) -> Path:
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatIP(6)
    index.add(VECTORS)
    faiss.write_index(index, str(folder / "v.faiss"))
    return folder / "v.faiss"


def _faiss_ivf(folder: Path) -> Path:
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(6), 6, 2)
    index.train(VECTORS)
    index.add(VECTORS)
    faiss.write_index(index, str(folder / "v.index"))
    return folder / "v.index"


MAKERS = [_npy, _npz, _safetensors, _json_lists, _json_objects, _parquet, _parquet_fixed, _faiss, _faiss_ivf]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("start", [0, 1, 10, 13, 24, 25])
def test_every_format_reads_alike(make: Callable[[Path], Path], start: int, tmp_path: Path) -> None:
    file = open_vectors(make(tmp_path))
    assert file.count() == 25
    blocks = list(file.blocks(start, size=4))
    assert all(block.dtype == np.float32 and 1 <= len(block) <= 4 for block in blocks)
    read = np.concatenate(blocks) if blocks else np.zeros((0, 6), np.float32)
    np.testing.assert_allclose(read, VECTORS[start:], rtol=1e-6)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n".join(json.dumps(row) for row in VECTORS.astype(float).tolist())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    file = open_vectors("-")
    assert file.count() is None
    np.testing.assert_allclose(np.concatenate(list(file.blocks())), VECTORS, rtol=1e-6)


def test_a_single_vector_is_a_table_of_one(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", VECTORS[0])
    save_file({"v": VECTORS[0]}, tmp_path / "one.safetensors")
    for name in ("one.npy", "one.safetensors"):
        [block] = open_vectors(tmp_path / name).blocks()
        np.testing.assert_array_equal(block, VECTORS[:1])


def test_the_field_is_chosen_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", a=VECTORS, b=VECTORS + 1)
    with pytest.raises(UsageError, match=r"2 arrays[\s\S]*--field: a, b"):
        open_vectors(tmp_path / "v.npz")
    [block] = open_vectors(tmp_path / "v.npz", field="b").blocks()
    np.testing.assert_array_equal(block, VECTORS + 1)
    with pytest.raises(UsageError, match=r"no array 'c'[\s\S]*a, b"):
        open_vectors(tmp_path / "v.npz", field="c")


def test_the_identity_follows_the_contents(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS)
    np.save(tmp_path / "b.npy", VECTORS)
    np.save(tmp_path / "c.npy", VECTORS[::-1])
    a, b, c = (open_vectors(tmp_path / f"{name}.npy").identity for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("missing.npy", None, UsageError, "no file"),
        ("v.npy", b"", DataError, "is empty"),
        ("v.npy", b"not numpy at all", DataError, "cannot be read as numpy"),
        ("v.csv", b"1,2,3", UsageError, "Formats: .npy"),
        ("v.npz", b"PK\x03\x04 broken", DataError, "cannot be read as numpy"),
        ("v.safetensors", b"\x10\0\0\0\0\0\0\0nonsense", DataError, "safetensors"),
        ("v.parquet", b"PAR1 and no more", DataError, "cannot be read as Parquet"),
        ("v.faiss", b"not an index", DataError, "FAISS"),
        ("v.jsonl", b"\n\n", DataError, "holds no vectors"),
        ("v.jsonl", b"{", DataError, "line 1, is not valid JSON"),
        ("v.jsonl", b"[1, 2]\n[1, 2, 3]", DataError, "line 2, has 3 numbers"),
        ("v.jsonl", b'["a"]', DataError, "is not a vector"),
        ("v.jsonl", b"[true]", DataError, "is not a vector"),
        ("v.jsonl", b"{}", UnembedError, "no field 'embedding'"),
        ("v.jsonl", b'{"a": [1], "b": [2]}', UsageError, "2 fields"),
        ("v.jsonl", b"\xff\xfe", DataError, "not valid JSON"),
    ],
)
def test_damage_is_named(
    tmp_path: Path, name: str, content: bytes | None, error: type[Exception], message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message):
        list(open_vectors(tmp_path / name).blocks())


def test_arrays_that_are_no_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "none.npy", np.zeros((0, 6)))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    for name, message in (
        ("cube", "shape"),
        ("none", "holds no vectors"),
        ("objects", "[Pp]ickle"),
        ("words", "not vectors of numbers"),
    ):
        with pytest.raises(DataError, match=message):
            list(open_vectors(tmp_path / f"{name}.npy").blocks())


def test_ragged_rows_in_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"v": [[1.0, 2.0], [1.0], [3.0, 4.0, 5.0]]}), tmp_path / "ragged.parquet")
    with pytest.raises(DataError, match="different dimensions"):
        list(open_vectors(tmp_path / "ragged.parquet").blocks())
    nothing = arrow.array([None, None], arrow.list_(arrow.float32()))
    parquet.write_table(arrow.table({"v": nothing}), tmp_path / "null.parquet")
    with pytest.raises(DataError, match="all of them are null"):
        list(open_vectors(tmp_path / "null.parquet").blocks())
    parquet.write_table(arrow.table({"text": ["a"]}), tmp_path / "text.parquet")
    with pytest.raises(UsageError, match="no column of lists"):
        list(open_vectors(tmp_path / "text.parquet").blocks())


def test_a_vector_that_is_null_is_one_of_nan(tmp_path: Path) -> None:
    """It gets a record of its own when it is inverted, and does not end the run."""
    lines = tmp_path / "v.jsonl"
    rows = [None, [1.0, None], [3.0, 4.0], None]
    lines.write_text("".join(json.dumps({"embedding": row}) + "\n" for row in rows))
    table = tmp_path / "v.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"embedding": rows}), table)
    nan = np.nan
    for path in (lines, table):
        for size in (1, 2, 10):
            source = open_vectors(str(path), field="embedding")
            found = np.concatenate(list(source.blocks(0, size)))
            np.testing.assert_array_equal(found, [[nan, nan], [1, nan], [3, 4], [nan, nan]])
    [last] = open_vectors(str(table), field="embedding").blocks(3)
    np.testing.assert_array_equal(last, [[nan, nan]])
    lines.write_text('{"embedding": null}\n')
    with pytest.raises(DataError, match="all of them are null"):
        list(open_vectors(str(lines), field="embedding").blocks())
