"""What people type, on the real bundled encoder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toy import LANGUAGES, sentences
from typed import unembed


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-c", "from unembed.cli.main import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    path = tmp_path / "few.txt"
    path.write_text("\n".join([*LANGUAGES["en"], *sentences(40)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_both_stages_in_one_go_and_one_by_one_are_the_same(few: Path, tmp_path: Path) -> None:
    run = process(
        "prepare", "--source", f"en={few}", "--limit", 30, "--seq-len", 12, "-o", tmp_path / "one", "--json"
    )
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert sum(summary["counts"].values()) == 30
    assert summary["encoder"]["dimension"] == 384
    assert summary["seq_len"] == 12

    collected = unembed(
        "prepare", "collect", "--source", f"en={few}", "--limit", 30, "-o", tmp_path / "texts"
    )
    assert collected.returncode == 0, collected.stderr
    assert "en" in collected.stdout
    encoded = unembed(
        "prepare", "encode", tmp_path / "texts", "--seq-len", 12, "-o", tmp_path / "two", "--json"
    )
    assert encoded.returncode == 0, encoded.stderr
    assert json.loads(encoded.stdout)["digest"] == summary["digest"]

    checked = unembed("data", "verify", tmp_path / "one", "--deep", "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["samples"] == 30

    refused = unembed("prepare", "encode", tmp_path / "texts", "--seq-len", 13, "-o", tmp_path / "two")
    assert refused.returncode == 5
    assert "seq_len was 12, now 13" in refused.stderr


@pytest.mark.slow
def test_vectors_are_the_encoders(few: Path, tmp_path: Path) -> None:
    import numpy as np

    from unembed.data.collect import collect
    from unembed.data.config import CollectConfig, EncodeConfig
    from unembed.data.encode import encode
    from unembed.encoders import load_encoder

    encoder = load_encoder()
    collect(CollectConfig(source=(f"en={few}",)), tmp_path / "texts")
    data = encode(EncodeConfig(seq_len=10), tmp_path / "texts", tmp_path / "out", encoder=encoder)
    train = data.split("train")
    every = np.arange(len(train))
    # Float16 keeps about three digits of numbers below one.
    np.testing.assert_allclose(train.vectors(every), encoder.encode(train.texts(every)), atol=3e-4)
    np.testing.assert_allclose(np.linalg.norm(train.vectors(every), axis=1), 1, atol=1e-3)


@pytest.mark.slow
def test_killed_and_run_again_the_real_encoder_gives_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "many.txt"
    source.write_text("\n".join(sentences(600)), encoding="utf-8")
    arguments = ["prepare", "--source", f"en={source}", "--shard-size", "60", "-o"]
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    assert unembed(*arguments, whole).returncode == 0
    command = [sys.executable, "-c", "from unembed.cli.main import main; main()", *arguments, str(resumed)]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (resumed / "shards" / "00001.json").exists():
        assert killed.poll() is None
        time.sleep(0.002)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert not (resumed / "manifest.json").exists()
    assert process(*arguments, resumed).returncode == 0
    files = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file()]
    assert [path.relative_to(resumed) for path in sorted(resumed.rglob("*")) if path.is_file()] == files
    for file in files:
        assert (resumed / file).read_bytes() == (whole / file).read_bytes(), file


def test_a_configuration_file(few: Path, tmp_path: Path) -> None:
    file = tmp_path / "collect.yaml"
    file.write_text(f"source: ['en={few}']\nlimit: 20\nseed: 4\n", encoding="utf-8")
    run = unembed("prepare", "collect", "--config", file, "--seed", 5, "-o", tmp_path / "out", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["texts"] == 20
    assert json.loads(run.stdout)["seed"] == 5


def test_help_shows_the_work() -> None:
    for arguments in (["prepare"], ["prepare", "--help"], ["prepare", "collect", "--help"]):
        run = unembed(*arguments)
        assert "--source" in run.stdout + run.stderr
        assert "unembed prepare" in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--source", "en=missing.txt", "-o", "out"], 2, "There is no file missing.txt"),
        (["--source", "en=empty.txt", "-o", "out"], 4, "No text was kept from empty.txt"),
        (["--source", "en=binary.txt", "-o", "out"], 4, "not a text file"),
        (["--source", "en=lines.jsonl", "--field", "body", "-o", "out"], 2, "no field 'body'"),
        (["--source", "en=lines.jsonl", "--quota", "de=3", "-o", "out"], 2, "no source in that language"),
        (["--source", "en=lines.jsonl", "--quota", "en", "-o", "out"], 2, "LANG=N"),
        (["--source", "en=lines.jsonl", "--limit", "0", "-o", "out"], 2, "--limit"),
        (["--source", "en=lines.jsonl"], 2, "--output"),
        (["-o", "out"], 2, "no source"),
        (["--seed", "1", "collect", "-o", "out"], 2, "after 'collect'"),
        (["encode", "missing", "-o", "out"], 2, "no folder missing"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "lines.jsonl").write_text('{"text": "A cat."}\n')
    run = unembed("prepare", *arguments)
    assert run.returncode == code, run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_errors_are_json_too(tmp_path: Path) -> None:
    run = unembed("prepare", "--source", "en=missing.txt", "-o", tmp_path / "out", "--json")
    assert run.returncode == 2
    assert "missing.txt" in json.loads(run.stderr)["error"]


def test_ctrl_c_is_one_line_and_exit_code_130(tmp_path: Path) -> None:
    many = tmp_path / "many.txt"
    many.write_text("".join(f"Sentence number {number} of many.\n" for number in range(400_000)))
    # Whoever runs the tests in a shell's background hands down that Ctrl-C is ignored; a terminal does not.
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from unembed.cli.main import main; main()"
    )
    command = [sys.executable, "-c", start, "prepare", "collect"]
    process = subprocess.Popen(
        [*command, "--source", f"en={many}", "-o", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "out" / "plan.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not list((tmp_path / "out").rglob("*.partial"))
