"""What people type, on vectors of the real bundled encoder and a tiny model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

import toy
from unembed.cli.main import cli
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.errors import DataError, UsageError
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary

MAIN = "from unembed.cli.main import main; main()"
SMALL = ("--samples", "16", "--steps", "2", "--no-plots")


class Real(NamedTuple):
    model: Path
    data: Path

    @property
    def options(self) -> tuple[str, ...]:
        return ("evaluate", "--model", str(self.model), "--data", str(self.data))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    """80 sentences encoded by MiniLM, and a model of a few thousand random weights for them."""
    folder = tmp_path_factory.mktemp("real")
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(toy.sentences(80)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={corpus}",)), folder / "texts")
    settings = EncodeConfig(seq_len=12, validation_share=0.1, test_share=0.4)
    data = encode(settings, folder / "texts", folder / "data")
    train = data.split("train")
    ids = train.tokens(range(len(train))).ravel()
    vocabulary = Vocabulary.from_counts(np.bincount(ids, minlength=data.manifest.tokenizer.vocabulary))
    config = DenoiserConfig(
        vector_dim=384,
        vocabulary=len(vocabulary),
        max_length=12,
        layers=1,
        block=BlockConfig(hidden=16, heads=2, ffn=16),
        length="given",
    )
    torch.manual_seed(0)
    described = CheckpointConfig(
        denoiser=config,
        encoder=data.manifest.encoder,
        vector_norm=(1.0, 0.0),
        training={"step": 7, "data": [data.digest]},
    )
    checkpoint = Checkpoint(Denoiser(config).eval(), vocabulary, data.tokenizer(), described)
    checkpoint.save_pretrained(folder / "model")
    return Real(folder / "model", folder / "data")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_everything_at_once_then_rendered_again(real: Real, tmp_path: Path) -> None:
    """One command makes every table; `--render` makes the same files of the summary alone."""
    out = tmp_path / "evaluation"
    sweeps = ("--strategies", "confidence,euler", "--remask", "0,0.1", "--noise", "0,0.3", "--lengths")
    more = ("--denoising", "0.1,0.9", "--checkpoints", real.model, "--models", real.model)
    command = [*real.options, "--samples", "16", "--steps", "2", *sweeps, *map(str, more), "-o", str(out)]
    done = subprocess.run([sys.executable, "-c", MAIN, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = ["main", "models", "strategies", "remask", "checkpoints", "lengths", "noise", "denoising"]
    summary = json.loads((out / "summary.json").read_text())
    assert [table["name"] for table in summary["tables"]] == names
    for name in names:
        assert {(out / f"{name}.{kind}").exists() for kind in ("json", "png", "svg")} == {True}, name
    for words in ("Nearest training text", "Token accuracy %", "Length unknown", "n = 16", "tok:13a"):
        assert words in done.stdout
    assert str(out) in done.stderr
    nearest = summary["tables"][0]["rows"][3]
    assert nearest["figures"]["cosine"]["value"] > 0.3

    report = (out / "report.md").read_bytes()
    for path in (*out.glob("*.md"), *out.glob("*.png")):
        path.unlink()
    again = run("evaluate", "--render", out)
    assert again.exit_code == 0, again.output
    assert (out / "report.md").read_bytes() == report
    assert (out / "noise.png").exists()
    as_json = run("evaluate", "--render", out, "--no-plots", "--json")
    assert json.loads(as_json.stdout) == summary


@pytest.mark.slow
def test_a_killed_run_goes_on(real: Real, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    command = [*real.options, *SMALL, "--batch", "1", "--metrics", "token_f1", "-o", str(out)]
    first = subprocess.Popen([sys.executable, "-c", MAIN, *command], stderr=subprocess.DEVNULL)
    rows = out / "rows.jsonl"
    while first.poll() is None and (not rows.exists() or rows.read_bytes().count(b"\n") < 4):
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = rows.read_bytes().split(b"\n")[:4]
    result = run(*command, "--json")
    assert result.exit_code == 0, result.output
    lines = rows.read_bytes().strip().split(b"\n")
    assert lines[:4] == kept
    found = [json.loads(line) for line in lines]
    assert len({(row["variant"], row["sample"]) for row in found}) == len(found) == 4 * 16
    assert json.loads(result.stdout)["tables"][0]["rows"][0]["figures"]["token_f1"]["n"] == 16


def test_wrong_calls_say_what_to_do(real: Real, tmp_path: Path) -> None:
    assert "Missing option '--data'" in run("evaluate", "--model", real.model).output
    assert "not a list of numbers" in run(*real.options, "--noise", "0,much").output
    wrong = run(*real.options, "--strategies", "confidense")
    assert isinstance(wrong.exception, UsageError)
    assert "Did you mean 'confidence'" in str(wrong.exception)
    wrong = run(*real.options, "--remask", "3")
    assert isinstance(wrong.exception, UsageError)
    assert "--remask" in str(wrong.exception)
    wrong = run("evaluate", "--model", tmp_path / "nothing", "--data", real.data)
    assert isinstance(wrong.exception, UsageError)
    (tmp_path / "summary.json").write_text("{}")
    assert isinstance(run("evaluate", "--render", tmp_path).exception, DataError)


def test_help_shows_the_examples() -> None:
    shown = run("evaluate", "--help").output
    for option in ("--strategies", "--remask", "--checkpoints", "--models", "--noise", "--unknown-length"):
        assert option in shown
    assert "unembed evaluate --render" in shown
