"""A tiny model with a dataset of vectors for it: two Parquet files, ids, a row that is broken in each way."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit_rows import DIMENSION, unit_vectors

import tiny
import toy


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    encoder = toy.ToyEncoder(dimension=DIMENSION, tokenizer=toy.wordpiece())
    made = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=unit_vectors(200))
    return str(tiny.save(made, tmp_path_factory.mktemp("tiny") / "model"))


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 rows in two files of unequal size; rows 40 and 100 cannot be inverted, nor 101."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("vectors")
    rows: list[list[float] | None] = [row.tolist() for row in unit_vectors(150)]
    rows[40] = [float("nan"), *([0.5] * (DIMENSION - 1))]
    rows[100], rows[101] = [0.5, 0.5], None
    for name, first, last in (("a", 0, 70), ("b", 70, 150)):
        part = {"id": [f"row {number}" for number in range(first, last)], "embedding": rows[first:last]}
        parquet.write_table(arrow.table(part), folder / f"{name}.parquet", row_group_size=30)
    return folder
