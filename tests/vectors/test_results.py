"""Result files: whole or resumable, never mixed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unembed.decode.result import Alternative, Inversion
from unembed.errors import DataError, MismatchError, UsageError
from unembed.vectors.results import ResultFile


def result(number: int) -> Inversion:
    other = Alternative(f"other {number}", (number, 2), -2.0)
    return Inversion(f"Text “{number}”", (number,), -1.5, 4, False, (other,))


def write(output: Path, numbers: range, *, finish: bool, seed: int = 0) -> int:
    with ResultFile(output, {"seed": seed, "model": {"a": "b"}}) as file:
        assert file.done == numbers.start
        for number in numbers:
            file.write(result(number))
        if finish:
            file.finish()
        return file.done


def rows(output: Path) -> list[dict]:
    if output.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        return parquet.read_table(output).to_pylist()
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_an_interrupted_file_goes_on(tmp_path: Path, name: str) -> None:
    whole, parts = tmp_path / "a" / name, tmp_path / "b" / name
    write(whole, range(7), finish=True)
    write(parts, range(3), finish=False)
    assert not parts.exists()
    with parts.with_name(name + ".rows").open("ab") as file:
        file.write(b'{"index": 3, "te')  # the kill came here
    write(parts, range(3, 7), finish=True)
    assert rows(parts) == rows(whole)
    assert [row["index"] for row in rows(parts)] == list(range(7))
    assert rows(parts)[2]["alternatives"][0]["text"] == "other 2"
    assert not parts.with_name(name + ".rows").exists()


def test_it_goes_on_behind_the_last_whole_group(tmp_path: Path) -> None:
    """The rows of a group are made together: half of one would be made again in other company."""
    output, about = tmp_path / "out.jsonl", {"seed": 0, "model": {"a": "b"}}
    write(output, range(7), finish=False)
    with ResultFile(output, about, together=3) as file:
        assert file.done == 6
        file.write(result(6))
        file.finish()
    assert [row["index"] for row in rows(output)] == list(range(7))


def test_a_complete_file_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "out.jsonl", range(3), finish=True)
    before = (tmp_path / "out.jsonl").read_bytes()
    with ResultFile(tmp_path / "out.jsonl", {"seed": 0, "model": {"a": "b"}}) as file:
        assert file.complete
        assert file.done == 3
    assert (tmp_path / "out.jsonl").read_bytes() == before


@pytest.mark.parametrize("finish", [False, True])
def test_other_settings_do_not_mix(tmp_path: Path, finish: bool) -> None:
    write(tmp_path / "out.jsonl", range(3), finish=finish)
    with pytest.raises(MismatchError, match="seed differ"):
        ResultFile(tmp_path / "out.jsonl", {"seed": 1, "model": {"a": "b"}})


def test_a_stranger_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("precious")
    with pytest.raises(UsageError, match="there already"):
        ResultFile(tmp_path / "out.jsonl", {})
    assert (tmp_path / "out.jsonl").read_text() == "precious"


def test_wrong_suffix_and_damage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jsonl or \.parquet"):
        ResultFile(tmp_path / "out.txt", {})
    write(tmp_path / "out.jsonl", range(2), finish=False)
    partial = tmp_path / "out.jsonl.rows"
    partial.write_bytes(partial.read_bytes() + b'{"index": 9}\n')
    with (
        pytest.raises(DataError, match="not in order"),
        ResultFile(tmp_path / "out.jsonl", {"seed": 0, "model": {"a": "b"}}),
    ):
        pass
