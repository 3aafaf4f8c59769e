"""The card says what was measured, of this model and no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from unembed.cli.model import command
from unembed.data.prepared import PreparedData
from unembed.errors import DataError, MismatchError
from unembed.evaluation import evaluate
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.evaluated_card import evaluated_card
from unembed.model.checkpoint import load_checkpoint
from unembed.model.parts import CARD


@pytest.fixture
def measured(model: Path, prepared: PreparedData, tmp_path: Path) -> Path:
    settings = EvaluateConfig(samples=6, lengths=True, metrics=("token_f1", "exact_match"))
    evaluate(str(model), prepared.folder, tmp_path / "measured", settings, plots=False, quiet=True)
    return tmp_path / "measured"


def test_every_figure_is_the_evaluations(model: Path, measured: Path) -> None:
    card = evaluated_card(
        load_checkpoint(model), [("Toy texts", measured)], about="Made of *toys*.", examples=3
    )
    assert "Made of *toys*." in card
    assert card.index("## Toy texts") < card.index("## What it cannot do")
    summary = json.loads((measured / "summary.json").read_text(encoding="utf-8"))
    [row] = [row for row in summary["tables"][0]["rows"] if row["label"] == "confidence"]
    assert f"{100 * row['figures']['token_f1']['value']:.1f} [" in card
    assert "*Shuffled vector*" in card
    assert "### By length of the text" in card
    assert card.count("Shuffled vector") == 1  # no floors length by length
    rows = [json.loads(line) for line in (measured / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    pairs = {f"| {row['target']} | {row['recovered']} |" for row in rows if row["variant"] == "0/confidence"}
    assert "### 3 texts drawn with seed 0" in card
    assert sum(pair in card for pair in pairs) == 3


def test_an_evaluation_of_an_earlier_version_is_read(model: Path, measured: Path) -> None:
    card = evaluated_card(load_checkpoint(model), [("Toy texts", measured)])
    summary = json.loads((measured / "summary.json").read_text(encoding="utf-8"))
    summary["about"]["arms"] = summary["about"].pop("variants")
    (measured / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    rows = (measured / "rows.jsonl").read_text(encoding="utf-8").replace('"variant"', '"arm"')
    (measured / "rows.jsonl").write_text(rows, encoding="utf-8")
    assert evaluated_card(load_checkpoint(model), [("Toy texts", measured)]) == card


def test_another_models_figures_are_refused(make_model: Callable[..., Path], measured: Path) -> None:
    with pytest.raises(MismatchError, match="another model"):
        evaluated_card(load_checkpoint(make_model("other", seed=1)), [("Toy texts", measured)])


def test_rows_that_are_gone_are_told(model: Path, measured: Path) -> None:
    (measured / "rows.jsonl").unlink()
    with pytest.raises(DataError, match=r"rows\.jsonl"):
        evaluated_card(load_checkpoint(model), [("Toy texts", measured)])


def test_the_command_writes_the_card(model: Path, measured: Path) -> None:
    typed = ["card", str(model), "--evaluation", f"Toy texts={measured}", "--json"]
    ran = CliRunner().invoke(command, typed, catch_exceptions=False)
    assert json.loads(ran.output)["evaluations"] == 1
    assert "## Toy texts" in (model / CARD).read_text(encoding="utf-8")
    ran = CliRunner().invoke(command, ["card", str(model), "--evaluation", str(measured)])
    assert "TITLE=FOLDER" in ran.output
