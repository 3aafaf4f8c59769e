"""`unembed canary`, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

from typed import unembed
from unembed.canaries import make_canaries, read_canaries


def test_sentences_are_printed() -> None:
    ran = unembed("canary", "-n", 5, "--seed", 7)
    assert ran.returncode == 0
    assert ran.stdout.splitlines() == [canary.text for canary in make_canaries(5, seed=7)]


def test_a_file_and_json(tmp_path: Path) -> None:
    path = tmp_path / "canaries.jsonl"
    ran = unembed("canary", "-n", 6, "--seed", 7, "-o", path, "--json")
    assert ran.returncode == 0
    assert [one["secret"] for one in json.loads(ran.stdout)] == [one.secret for one in read_canaries(path)]
    assert "20 bits" in ran.stderr


def test_a_wrong_suffix_is_one_line(tmp_path: Path) -> None:
    ran = unembed("canary", "-o", tmp_path / "canaries.pdf")
    assert ran.returncode == 2
    assert "not written to" in ran.stderr
    assert not list(tmp_path.iterdir())
