"""`unembed invert` over a dataset, as it is typed; tests/cluster/test_two_nodes.py has it on a cluster."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import tiny
import toy
from unembed.cli.invert import command
from unembed.errors import DataError

DIMENSION = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and a folder of two files of vectors, one row of which is NaN."""
    home = tmp_path_factory.mktemp("invert")
    vectors = np.random.default_rng(0).normal(size=(40, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    encoder = toy.ToyEncoder(dimension=DIMENSION)
    tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=vectors), home / "model")
    (home / "in").mkdir()
    vectors[33] = np.nan
    for name, rows in (("a.npy", vectors[:30]), ("b.npy", vectors[30:])):
        np.save(home / "in" / name, rows)
    return home


def typed(folder, *words, **more):
    flags = ["-m", str(folder / "model"), "--num-lengths", "1", "--steps", "1"]
    return CliRunner().invoke(command, ["-e", str(folder / "in"), *flags, *map(str, words)], **more)


def test_a_folder_gives_parts_and_a_line_of_json(folder, tmp_path):
    ran = typed(folder, "-o", tmp_path / "out", "--json", "--price-per-hour", "2")
    assert isinstance(ran.exception, DataError)  # the last line and the exit code say that a row failed
    assert "1 of 40 vectors could not be inverted" in str(ran.exception)
    said = json.loads(ran.stdout)
    assert (said["texts"], said["failed"], said["earlier"]) == (39, 1, 0)
    assert said["rows_per_second"] > 0
    assert said["dollars_per_million"] > 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["rows"], manifest["failed"]) == (40, 1)
    again = typed(folder, "-o", tmp_path / "out", "--json")
    assert json.loads(again.stdout)["earlier"] == 40


def test_a_dry_run_counts_and_writes_nothing(folder):
    before = sorted(folder.rglob("*"))
    said = json.loads(typed(folder, "--dry-run", "--json").stdout)
    assert (said["rows"], said["files"]) == (40, 2)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--actors", "2", "-o", "out"), "--actors needs --on ray"),
        (("--on", "ray"), "need --embedding and --output"),
        (("--on", "dask", "-o", "out"), "'dask' is no engine"),
        (("-o", "out.txt"), "written as .jsonl or .parquet"),
    ],
)
def test_what_does_not_go_together(folder, words, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = typed(folder, *words)
    assert ran.exit_code
    assert complaint in f"{ran.output} {ran.exception}"
    assert not list(tmp_path.iterdir())
