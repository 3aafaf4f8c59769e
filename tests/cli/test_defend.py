"""`unembed defend`, as people type it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from typed import unembed
from unembed.defences import defence_names

VECTORS = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.npy"
    np.save(path, VECTORS)
    return path


def test_noise_as_a_process_on_parquet(tmp_path: Path) -> None:
    table = pa.table({"id": range(300), "embedding": list(VECTORS), "text": [f"t{n}" for n in range(300)]})
    pq.write_table(table, tmp_path / "vectors.parquet")
    arguments = ["defend", "--method", "gaussian:sigma=0.02", "vectors.parquet", "-o", "noisy.parquet"]
    ran = subprocess.run(
        [sys.executable, "-m", "unembed", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "300 vectors in noisy.parquet: Gaussian noise (sigma 0.02" in ran.stderr
    assert "Queries stay as they are." in ran.stderr
    noisy = pq.read_table(tmp_path / "noisy.parquet")
    assert noisy["text"].to_pylist() == table["text"].to_pylist()
    noise = np.stack(noisy["embedding"].to_numpy()) - VECTORS
    lengths = np.linalg.norm(VECTORS, axis=1, keepdims=True)
    assert (noise / lengths).std() == pytest.approx(0.02, rel=0.05)


def test_a_rotation_is_kept_and_takes_queries(vectors: Path, tmp_path: Path) -> None:
    kept, out, asked = tmp_path / "kept", tmp_path / "out.npy", tmp_path / "asked.npy"
    ran = unembed("defend", "--method", "rotation", vectors, "-o", out, "--save-defence", kept, "--json")
    said = json.loads(ran.stdout)
    assert (said["rows"], said["secret"], said["saved"]) == (300, "the rotation", str(kept))
    assert unembed("defend", "--defence", kept, "--queries", vectors, "-o", asked).returncode == 0
    stored, queries = np.load(out), np.load(asked)
    assert not np.allclose(stored, VECTORS, atol=0.1)
    np.testing.assert_allclose(queries @ stored.T, VECTORS @ VECTORS.T, atol=1e-3)


def test_a_saved_defence_gives_the_same_vector_the_same_noise(vectors: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first, second, other = (tmp_path / f"{name}.npy" for name in ("first", "second", "other"))
    unembed("defend", "--method", "ball", vectors, "-o", first, "--save-defence", kept)
    unembed("defend", "--defence", kept, vectors, "-o", second)
    unembed("defend", "--method", "ball", vectors, "-o", other)
    np.testing.assert_array_equal(np.load(first), np.load(second))
    assert not np.allclose(np.load(first), np.load(other))


def test_a_seed_makes_the_same_again(vectors: Path, tmp_path: Path) -> None:
    outputs = []
    for run in range(2):
        save = ("--save-defence", tmp_path / f"kept-{run}")
        ran = unembed(
            "defend", "--method", "cloaked", "--seed", 3, *save, vectors, "-o", tmp_path / f"{run}.npy"
        )
        assert ran.returncode == 0
        outputs.append(np.load(tmp_path / f"{run}.npy"))
    np.testing.assert_array_equal(*outputs)


def test_it_is_fitted_on_other_vectors(vectors: Path, tmp_path: Path) -> None:
    wide = tmp_path / "wide.npy"
    np.save(wide, 10 * VECTORS)
    ran = unembed("defend", "--method", "int8", "--fit-on", wide, vectors, "-o", tmp_path / "out.npy")
    assert "Fitting int8 codes on 300 vectors." in ran.stderr
    steps = np.diff(np.unique(np.load(tmp_path / "out.npy")[:, 0]))
    assert steps.min() > 0.05 * VECTORS[:, 0].std()


def test_the_list_names_every_defence() -> None:
    listed = json.loads(unembed("defend", "--list", "--json").stdout)
    assert [one["name"] for one in listed] == list(defence_names())
    printed = unembed("defend", "--list").stdout
    assert all(name in printed for name in defence_names())


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        (["--method", "rotation", "-o", "out.npy"], 2, "it would be lost"),
        (["--method", "rotation", "--queries", "-o", "out.npy"], 2, "the very 'rotation'"),
        (["--method", "gausian", "-o", "out.npy"], 2, "Did you mean 'gaussian'"),
        (["--method", "gaussian", "-o", "vectors.npy"], 2, "the input itself"),
        (["--method", "gaussian", "-o", "out.csv"], 2, "ends in .npy"),
        (["-o", "out.npy"], 2, "--method and --defence"),
        (["--method", "gaussian"], 2, "-o FILE"),
        (["--method", "gaussian", "--defence", "x", "-o", "out.npy"], 2, "one of --method and --defence"),
        (["--defence", "nowhere", "-o", "out.npy"], 2, "holds no defence"),
        (["--method", "pq", "--fit-samples", "100", "-o", "out.npy"], 4, "at least 256 vectors"),
    ],
)
def test_a_mistake_is_one_line(
    typed: list[str], code: int, message: str, vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vectors.parent)
    ran = unembed("defend", "vectors.npy", *typed)
    assert ran.returncode == code
    assert message in ran.stderr
    assert [path.name for path in vectors.parent.iterdir()] == ["vectors.npy"]


def test_queries_of_a_defence_without_a_secret_need_no_folder(vectors: Path, tmp_path: Path) -> None:
    typed = (
        "defend",
        "--method",
        "truncation:dimensions=4",
        "--queries",
        vectors,
        "-o",
        tmp_path / "out.npy",
    )
    assert unembed(*typed).returncode == 0
    assert np.load(tmp_path / "out.npy").shape == (300, 4)
