"""Whatever goes wrong, a person sees one line, a script an exit code; --debug shows where it happened."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest
import tiny_models

from unembed.cli.main import COMMANDS, UNEXPECTED, cli, main


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose own code fails in a way that nobody foresaw."""
    folder = tiny_models.with_own_code(tmp_path_factory.mktemp("faulty"))
    code = folder / "custom_st.py"
    source = code.read_text(encoding="utf-8")
    broken = source.replace("features = super().forward(features, **kwargs)", "features = 1 / 0")
    assert broken != source
    code.write_text(broken, encoding="utf-8")
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *typed: object) -> int:
    monkeypatch.setattr(sys, "argv", ["unembed", *map(str, typed)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def failing(faulty: Path, texts: Path, tmp_path: Path) -> tuple[object, ...]:
    """A command that ends in that failure."""
    return (
        *("prepare", "encode", texts, "--encoder", faulty, "--trust-remote-code"),
        *("--seq-len", 32, "-o", tmp_path / "out"),
    )


def test_an_unexpected_failure_is_one_line(
    failing: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(monkeypatch, *failing) == UNEXPECTED == 70
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert "ZeroDivisionError: division by zero" in line
    assert "--debug" in line


def test_an_unexpected_failure_is_one_json_object(
    failing: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(monkeypatch, *failing, "--json") == UNEXPECTED
    told = json.loads(capsys.readouterr().err)
    assert "ZeroDivisionError" in told["error"]
    assert "--debug" in told["hint"]
    assert "traceback" not in told
    assert run(monkeypatch, *failing, "--json", "--debug") == UNEXPECTED
    assert "custom_st.py" in json.loads(capsys.readouterr().err)["traceback"]


@pytest.mark.parametrize("first", [True, False], ids=["before the command", "after it"])
def test_debug_shows_the_traceback(
    failing: tuple[object, ...],
    first: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = ("--debug", *failing) if first else (*failing, "--debug")
    assert run(monkeypatch, *typed) == UNEXPECTED
    told = capsys.readouterr().err
    assert "Traceback (most recent call last)" in told
    assert "custom_st.py" in told
    assert "ZeroDivisionError: division by zero" in told.splitlines()[-1]


def test_debug_shows_where_an_expected_error_came_from_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "data", "show", tmp_path / "absent") == 2
    assert "Traceback" not in capsys.readouterr().err
    assert run(monkeypatch, "data", "show", tmp_path / "absent", "--debug") == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_file_that_the_system_refuses_is_named(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = corpus / "inside-a-file"
    assert run(monkeypatch, "prepare", "collect", "--source", f"en={corpus}", "-o", output) == 6
    [line] = capsys.readouterr().err.splitlines()
    assert str(output) in line
    assert "Not a directory" in line


def test_every_command_takes_debug() -> None:
    context = click.Context(cli, info_name="unembed")

    def check(command: click.Command, name: str) -> None:
        flags = [flag for parameter in command.params for flag in parameter.opts]
        assert flags.count("--debug") == 1, name
        if isinstance(command, click.Group) and command is not cli:
            for inner, one in command.commands.items():
                check(one, f"{name} {inner}")

    check(cli, "unembed")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        check(command, name)
