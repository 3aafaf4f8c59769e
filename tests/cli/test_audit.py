"""`unembed audit` as users type it: exit codes, what is printed, what a mistake says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audit_cases import write_store
from click.testing import CliRunner

import tiny
import toy
from unembed.cli.audit import command
from unembed.cli.main import cli
from unembed.errors import FindingsError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    made = tiny.checkpoint(
        toy.wordpiece(), encoder.info, max_length=24, fit_to=encoder.encode(toy.sentences(50))
    )
    return tiny.save(made, tmp_path_factory.mktemp("model") / "toy-model")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write_store(tmp_path / "notes.jsonl", toy.sentences(30))


def run(*arguments: object) -> Any:
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)])


def test_a_process_prints_json(store: Path, model: Path, tmp_path: Path) -> None:
    command_line = [
        sys.executable, "-m", "unembed", "audit", str(store), "--model", str(model), "--samples", "5",
        "--attackers", "vectors", "-o", str(tmp_path / "out"), "--json",
    ]  # fmt: skip
    done = subprocess.run(command_line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] == "complete"
    assert report["attackers"][0]["n"] == 5


def test_more_than_is_allowed_is_exit_code_7(
    store: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unembed.audit import attackers

    known = {tuple(vector): text for text, vector in zip(toy.sentences(30), _vectors(), strict=True)}

    def perfect(self: Any, case: Any, vectors: Any, progress: Any) -> list[Any]:
        from unembed.decode.result import Inversion

        found = [known[tuple(round(float(x), 4) for x in vector)] for vector in vectors]
        return [Inversion(text, (), 0.0, 1, False) for text in found]

    monkeypatch.setattr(attackers.VectorsOnly, "recover", perfect)
    options = ["--model", model, "--samples", 10, "--attackers", "vectors", "-o", tmp_path / "out"]
    failed = run(store, *options, "--fail-over", "exact=0.5")
    assert isinstance(failed.exception, FindingsError)
    assert failed.exception.exit_code == 7
    assert "Has the vectors: word for word, at least" in str(failed.exception)
    assert run(store, *options, "--fail-over", "f1=1").exit_code == 0
    # The same as before is not worse.
    (tmp_path / "out" / "report.json").rename(tmp_path / "before.json")
    again = run(store, *options, "--fail-over", "exact=0.5", "--baseline", tmp_path / "before.json")
    assert again.exit_code == 0, again.output
    assert "Has the vectors" in again.output


def _vectors() -> list[tuple[float, ...]]:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    return [tuple(round(float(x), 4) for x in vector) for vector in encoder.encode(toy.sentences(30))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.npy",), "nowhere.npy"),
        (("qdrnt:./store#notes",), "Did you mean 'qdrant'?"),
        (("v.npy", "--attackers", "thief"), "there is no attacker 'thief'"),
        (("v.npy", "--fail-over", "exact=2"), "between 0 and 1"),
        (("v.npy", "--samples", "0"), "--samples"),
        (("v.npy", "--baseline", "none.json"), "There is no file none.json"),
        (("v.npy", "--canaries", "none.jsonl"), "none.jsonl"),
    ],
)
def test_a_mistake_is_one_clear_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code != 0
    assert message in str(done.exception) + done.output


def test_a_dry_run_prints_what_would_be_done(store: Path, model: Path, tmp_path: Path) -> None:
    done = run(store, "--model", model, "--samples", 5, "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["rows"], found["drawn"]) == (30, 5)
    assert "In all about" in run(store, "--model", model, "--samples", 5, "--dry-run").output


def test_every_option_has_help() -> None:
    assert all(parameter.help for parameter in command.params if parameter.param_type_name == "option")
