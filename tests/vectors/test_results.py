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


ABOUT = {"seed": 0, "model": {"a": "b"}}


def failed(reason: str) -> Inversion:
    return Inversion("", (), 0.0, 0, False, error=reason)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_vector_that_could_not_be_inverted_has_a_record(tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    with ResultFile(output, ABOUT) as file:
        file.write(result(0))
        file.write(failed("The vector has NaN or infinity."))
        assert (file.done, file.inverted, file.failed) == (2, 1, 1)
    with output.with_name(name + ".rows").open("ab") as partial:
        partial.write(b'{"index": 2, "error": "The vec')  # a kill cut this record short
    with ResultFile(output, ABOUT) as file:
        assert (file.done, file.inverted, file.failed) == (2, 1, 1)
        file.write(result(2))
        file.write(failed("The vector has NaN or infinity."))
        file.finish()
    found = rows(output)
    assert [row["index"] for row in found] == [0, 1, 2, 3]
    assert [row.get("error") for row in found] == [None, *["The vector has NaN or infinity.", None] * 2][:4]
    assert [row.get("text") for row in found] == ["Text “0”", None, "Text “2”", None]
    if output.suffix == ".jsonl":
        assert found[1] == {"index": 1, "error": "The vector has NaN or infinity."}
        assert "error" not in found[0]
    summary = json.loads(output.with_name(name + ".run.json").read_text())
    assert (summary["rows"], summary["inverted"], summary["failed"]) == (4, 2, 2)
    with ResultFile(output, ABOUT) as file:
        assert (file.complete, file.done, file.failed) == (True, 4, 2)


def test_a_failed_row_of_a_cut_off_group_is_not_counted(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    with ResultFile(output, ABOUT) as file:
        for number in range(4):
            file.write(result(number))
        file.write(failed("The vector has NaN or infinity."))
    with ResultFile(output, ABOUT, together=2) as file:
        assert (file.done, file.failed) == (4, 0)


def test_a_text_that_speaks_of_errors_is_no_failure(tmp_path: Path) -> None:
    with ResultFile(tmp_path / "out.jsonl", ABOUT) as file:
        file.write(Inversion('{"index": 0, "error": "x"}', (1,), -1.0, 1, False))
    with ResultFile(tmp_path / "out.jsonl", ABOUT) as file:
        assert (file.done, file.failed) == (1, 0)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    second = ResultFile(output, ABOUT)
    with ResultFile(output, ABOUT) as file:
        file.write(result(0))
        with pytest.raises(UsageError, match="Another run"), second:
            pass
        file.write(result(1))
        file.finish()
    with second:  # looked at the file before the first run finished it
        assert second.complete
        assert second.done == 2
    assert [row["index"] for row in rows(output)] == [0, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"out.jsonl", "out.jsonl.run.json"}


def test_two_files_of_one_folder_are_written_at_once(tmp_path: Path) -> None:
    with ResultFile(tmp_path / "a.jsonl", ABOUT) as one, ResultFile(tmp_path / "b.jsonl", ABOUT) as other:
        one.write(result(0))
        other.write(result(0))
        one.finish()
        other.finish()
    assert rows(tmp_path / "a.jsonl") == rows(tmp_path / "b.jsonl")
