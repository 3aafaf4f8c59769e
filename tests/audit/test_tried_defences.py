"""What would help this store: the same trials as in an evaluation, on the sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import toy
from unembed.audit.audit_config import AuditConfig
from unembed.audit.case import Case
from unembed.audit.tried_defences import try_defences
from unembed.errors import UsageError

MakeCase = Callable[..., Case]
SENTENCES = toy.sentences(140)


def test_leakage_left_beside_neighbours_kept(make_case_of: MakeCase, tmp_path: Path) -> None:
    case = make_case_of(SENTENCES[:4], SENTENCES[4:], defences=("rotation", "gaussian:sigma=1000"))
    found = try_defences(case, tmp_path)
    assert found is not None
    rows = {row.setting.partition(" ")[0]: row for row in found.rows}
    assert set(rows) == {"rotation", "gaussian:sigma=1000", "none"}
    assert found.rows[-1].setting.startswith("none (best: ")
    assert rows["rotation"].neighbours_kept.value == rows["none"].neighbours_kept.value == 1.0
    assert rows["gaussian:sigma=1000"].neighbours_kept.value < 0.5
    assert rows["rotation"].leakage.n == 4
    # What is measured is kept: a second call measures nothing.
    written = (tmp_path / "defences" / "rows.jsonl").read_bytes()
    assert try_defences(case, tmp_path) == found
    assert (tmp_path / "defences" / "rows.jsonl").read_bytes() == written


def test_what_cannot_be_measured_says_why(make_case_of: MakeCase, tmp_path: Path) -> None:
    few = try_defences(make_case_of(SENTENCES[:4], SENTENCES[4:20]), tmp_path)
    assert few is not None
    assert "16 further texts" in few.note
    silent = try_defences(make_case_of([None, None]), tmp_path)
    assert silent is not None
    assert "no texts to compare with" in silent.note
    assert try_defences(make_case_of(SENTENCES[:4], defences=("none",)), tmp_path) is None
    with pytest.raises(UsageError, match="no defence"):
        AuditConfig(defences=("nothing",))
