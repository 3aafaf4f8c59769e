"""`unembed train`, as people type it."""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from unembed.cli import train as module
from unembed.cli.main import COMMANDS, cli
from unembed.cli.options import build_config
from unembed.cli.train import command
from unembed.data.prepared import PreparedData
from unembed.errors import DataError, MismatchError, MissingExtraError, UsageError
from unembed.training.config import TrainConfig
from unembed.training.presets import find_config, packaged_configs

SMALL = [
    *("--layers", "1", "--hidden", "16", "--heads", "2", "--ffn", "16", "--length", "given"),
    *("--max-length", "8", "--batch", "16", "--groups", "2", "--warmup", "2", "--steps", "6"),
    *("--validate-every", "3", "--sample-every", "3", "--validate-size", "8", "--sample-size", "4"),
    *("--save-every", "3", "--log-every", "2", "--device", "cpu"),
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_it_stands_in_its_place() -> None:
    names = list(COMMANDS)
    assert names.index("data") < names.index("train") < names.index("invert")
    assert cli.get_command(click.Context(cli), "train") is command


def test_help_documents_every_field_under_its_heading() -> None:
    text = run("--help").stdout
    for name in TrainConfig.model_fields:
        assert f"--{name.replace('_', '-')}" in text
    headings = ["Data:", "Model:", "Objective:", "Optimiser:", "Reporting and saving:", "Options:"]
    places = [text.index(f"\n{heading}\n") for heading in headings]
    assert places == sorted(places)
    assert text.index("Model:") < text.index("--backbone ") < text.index("Objective:")
    assert text.index("Objective:") < text.index("--candidates ") < text.index("Optimiser:")


def test_help_loads_no_torch() -> None:
    import subprocess

    code = "import sys; from unembed.cli.train import command; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_run_in_plain_lines(prepared: PreparedData, tmp_path: Path) -> None:
    result = run("--data", prepared.folder, "-o", tmp_path / "run", *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    for expected in (
        "Training: ",
        "texts",
        "loss",
        "samples/s",
        "token accuracy",
        "(n = 4)",
        " -> ",
        "Done at",
    ):
        assert expected in result.stderr
    original = result.stderr.split(" -> ")[0].splitlines()[-1].strip()
    assert original in prepared.split("validation").texts(range(len(prepared.split("validation"))))
    for name in ("best/config.json", "latest/model.safetensors", "curves.png", "curves.svg", "log.jsonl"):
        assert (tmp_path / "run" / name).exists()


def test_a_run_in_json_lines(prepared: PreparedData, tmp_path: Path) -> None:
    result = run("--data", prepared.folder, "-o", tmp_path / "run", "--json", *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "start"
    assert kinds[-2:] == ["end", "curves"]
    assert {"train", "validation", "sample"} <= set(kinds)
    assert "step" not in kinds
    assert events[-1]["model"] == str(tmp_path / "run" / "best")
    logged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert logged == events[:-1]


def test_the_same_command_again_goes_on(prepared: PreparedData, tmp_path: Path, monkeypatch: Any) -> None:
    arguments = ["--data", prepared.folder, "-o", tmp_path / "run", *SMALL]
    monkeypatch.setattr(module, "TrainingDisplay", stopping_at(4))
    stopped = run(*arguments)
    assert isinstance(stopped.exception, (KeyboardInterrupt, click.Abort, SystemExit))
    assert "Stopped and saved at step 4" in stopped.stderr
    monkeypatch.undo()
    resumed = run(*arguments)
    assert resumed.exit_code == 0
    assert "Resuming at step 4" in resumed.stderr
    other = run(*arguments, "--learning-rate", 0.5)
    assert isinstance(other.exception, MismatchError)
    assert "config.learning_rate" in other.exception.message


def stopping_at(step: int) -> type:
    """A display that sends Ctrl-C after a step."""

    class Stopping(module.TrainingDisplay):
        def __call__(self, kind: str, progress: Any, figures: dict[str, Any]) -> None:
            super().__call__(kind, progress, figures)
            if kind == "step" and progress.step == step:
                os.kill(os.getpid(), signal.SIGINT)

    return Stopping


def test_curves_are_drawn_again(prepared: PreparedData, tmp_path: Path) -> None:
    assert run("--data", prepared.folder, "-o", tmp_path / "run", *SMALL).exit_code == 0
    (tmp_path / "run" / "curves.png").unlink()
    shown = json.loads(run("--plot", tmp_path / "run", "--json").stdout)
    assert (tmp_path / "run" / "curves.png").exists()
    assert shown["files"] == [str(tmp_path / "run" / f"curves.{kind}") for kind in ("png", "svg")]
    nothing = run("--plot", tmp_path)
    assert isinstance(nothing.exception, UsageError)


@pytest.mark.parametrize("name", ["accelerate", "matplotlib"])
def test_a_missing_extra_is_said_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    real = builtins.__import__

    def without(module: str, *rest: Any, **more: Any) -> Any:
        if module.split(".")[0] == name:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(module, *rest, **more)

    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", without)
    result = run("--data", tmp_path, "-o", tmp_path / "run")
    assert isinstance(result.exception, MissingExtraError)
    assert result.exception.exit_code == 3
    assert result.exception.hint == "Install it with: pip install 'unembed[train]'"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", packaged_configs())
def test_packaged_configurations_are_whole(name: str) -> None:
    path = find_config(name)
    assert path is not None
    text = path.read_text()
    assert "unembed prepare" in text
    assert f"unembed train --config {name}" in text
    config = build_config(TrainConfig, {"data": (Path("x"),), "output": Path("y")}, file=path)
    if name.startswith("paper"):
        assert (config.layers, config.hidden, config.heads, config.ffn) == (8, 768, 12, 3072)
        assert (config.batch, config.steps, config.learning_rate) == (400, 200_000, 1e-4)
        assert (config.ema, config.weight_decay, config.dropout) == (0.9999, 0.01, 0.1)
        assert (config.length, config.max_length) == ("fixed", 32)


def test_the_packaged_names_are_those_promised() -> None:
    assert packaged_configs() == ["compact-minilm", "paper-embeddinggemma", "paper-jina-v3", "paper-qwen3"]


def test_a_file_then_what_was_typed(prepared: PreparedData, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    settings = {
        option.removeprefix("--").replace("-", "_"): value
        for option, value in zip(SMALL[::2], SMALL[1::2], strict=True)
    }
    settings |= {"milestones": [1, 2], "data": [str(prepared.folder)]}
    file.write_text(json.dumps(settings))  # JSON is YAML
    result = run("--config", file, "-o", tmp_path / "run", "--steps", 3, "--milestones", "2,3", "--json")
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "run" / "train.json").read_text())
    assert written["steps"] == 3
    assert written["hidden"] == 16
    assert written["milestones"] == [2, 3]
    assert written["data"] == [str(prepared.folder)]


def test_data_may_be_given_more_than_once(prepared: PreparedData, tmp_path: Path) -> None:
    result = run(
        "--data", prepared.folder, "--data", prepared.folder, "-o", tmp_path / "run", "--json", *SMALL
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout.splitlines()[0])["texts"] == 2 * len(prepared.split("train"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "run"], "Missing option '--data'"),
        (["--data", "x"], "Missing option '--output'"),
        (["--config", "nothing-like-it"], "There is no configuration 'nothing-like-it'"),
        (["--data", "x", "-o", "y", "--batch", "0"], "--batch must be at least 1, got 0."),
        (["--data", "x", "-o", "y", "--backbone-layers", "0,two"], "--backbone-layers"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert message in result.exception.message


def test_damaged_data_is_named(prepared: PreparedData, tmp_path: Path) -> None:
    next(iter((prepared.folder / "shards").glob("*.vectors.npy"))).write_bytes(b"")
    result = run("--data", prepared.folder, "-o", tmp_path / "run", *SMALL)
    assert isinstance(result.exception, DataError)
