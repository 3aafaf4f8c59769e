"""The row file survives kills and says where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unembed.errors import DataError
from unembed.evaluation.rows import Row, RowLog, read_rows


def row(sample: int, variant: str = "0/confidence") -> Row:
    return Row(
        variant=variant,
        sample=sample,
        language="zh",
        length=3,
        target="我很好\u2028。",
        recovered="你好",
        tokens=[1, 2],
        statistics={"token_accuracy": [1.0, 3.0]},
    )


def test_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowLog(path) as log:
        log.append([row(1), row(2)])
    with RowLog(path) as log:
        assert log.rows == [row(1), row(2)]
        assert log.done() == {("0/confidence", 1), ("0/confidence", 2)}
        log.append([row(3)])
    assert len(path.read_bytes().strip().split(b"\n")) == 3


def test_a_line_that_a_kill_cut_short_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowLog(path) as log:
        log.append([row(1), row(2)])
    path.write_bytes(path.read_bytes()[:-9])
    with RowLog(path) as log:
        assert log.rows == [row(1)]
        log.append([row(2)])
    with RowLog(path) as log:
        assert log.rows == [row(1), row(2)]


def test_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowLog(path) as log:
        log.append([row(1), row(2)])
    path.write_bytes(path.read_bytes().replace(b'"sample": 2', b'"sample": "x"'))
    with pytest.raises(DataError, match="Line 2"):
        RowLog(path)


def test_rows_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """They called a variant an arm."""
    written = row(1).model_dump()
    written["arm"] = written.pop("variant")
    (tmp_path / "rows.jsonl").write_text(json.dumps(written) + "\n", encoding="utf-8")
    assert read_rows(tmp_path / "rows.jsonl") == [row(1)]
