from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from unembed.cli.data import command
from unembed.data.prepared import PreparedData
from unembed.errors import DataError


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_show(prepared: PreparedData) -> None:
    result = run("show", prepared.folder, "--samples", 2)
    assert result.exit_code == 0, result.output
    train = prepared.split("train")
    for expected in (*train.texts([0, 1]), "█", "toy", prepared.digest, f"{len(train):,}"):
        assert expected in result.stdout
    assert train.texts([2])[0] not in result.stdout


def test_show_json(prepared: PreparedData) -> None:
    shown = json.loads(run("show", prepared.folder, "--json").stdout)
    assert shown["counts"] == prepared.manifest.counts
    assert shown["digest"] == prepared.digest
    assert sum(shown["lengths"].values()) == sum(shown["counts"].values())
    assert [sample["text"] for sample in shown["samples"]] == prepared.split("train").texts([0, 1, 2])


def test_show_collected_texts(texts: Path) -> None:
    assert "400 collected texts" in run("show", texts).stdout
    shown = json.loads(run("show", texts, "--json", "--samples", 1).stdout)
    assert shown["texts"] == 400
    assert len(shown["samples"]) == 1


def test_texts_of_a_split(prepared: PreparedData) -> None:
    side = prepared.split("validation")
    everything = side.texts(range(len(side)))
    assert everything
    assert run("texts", prepared.folder, "--split", "validation").stdout.splitlines() == everything
    assert run(
        "texts", prepared.folder, "--split", "train", "--limit", 2
    ).stdout.splitlines() == prepared.split("train").texts([0, 1])
    shown = json.loads(run("texts", prepared.folder, "--split", "validation", "--json").stdout)
    assert [row["text"] for row in shown] == everything


def test_verify(prepared: PreparedData) -> None:
    result = run("verify", prepared.folder)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "is whole" in result.stderr
    shown = json.loads(run("verify", prepared.folder, "--deep", "--json").stdout)
    assert shown["ok"]
    assert shown["samples"] == sum(prepared.manifest.counts.values())


@pytest.mark.parametrize("as_json", [True, False])
def test_verify_names_the_damaged_file(prepared: PreparedData, as_json: bool) -> None:
    file = prepared.folder / "shards" / "00002.tokens.npy"
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    result = run("verify", prepared.folder, *(["--json"] if as_json else []))
    assert isinstance(result.exception, DataError)
    assert result.exception.exit_code == 4
    assert "00002.tokens.npy" in result.exception.message
    assert "00002.*" in str(result.exception.hint)
    if as_json:
        shown = json.loads(result.stdout)
        assert not shown["ok"]
        assert shown["problems"][0]["file"] == str(file)
