"""Defences on trial, end to end with a toy model: rows first, resumable, whoever cannot is a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tiny
import toy
from unembed.cli.evaluate import command
from unembed.data.normalise import text_keys
from unembed.data.prepared import PreparedData
from unembed.errors import UsageError
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.samples import draw_samples
from unembed.report import read_report
from unembed.trials.attack_defended import DefendedAttack
from unembed.trials.defended_store import collect_known
from unembed.trials.run_trials import run_trials
from unembed.trials.settings_of_defences import all_settings, split_names
from unembed.trials.trials_config import TrialsConfig

CONFIG = EvaluateConfig(samples=5, steps=2)
TRIALS = {"known_pairs": (60, 90), "guided_samples": 2, "guided_calls": 4}


@pytest.fixture
def model(prepared: PreparedData, tmp_path: Path) -> Path:
    vectors = prepared.split("train").vectors(range(50))
    made = tiny.checkpoint(prepared.tokenizer(), prepared.manifest.encoder, max_length=8, fit_to=vectors)
    return tiny.save(made, tmp_path / "model")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "beir"
    folder.mkdir()
    texts = toy.sentences(30, seed=9)
    corpus = [json.dumps({"_id": f"d{row}", "text": text}) for row, text in enumerate(texts)]
    queries = [json.dumps({"_id": f"q{row}", "text": text[:-8]}) for row, text in enumerate(texts[:8])]
    (folder / "corpus.jsonl").write_text("\n".join(corpus))
    (folder / "queries.jsonl").write_text("\n".join(queries))
    lines = [f"q{row}\td{row}\t1" for row in range(8)]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]))
    return folder


def variants(folder: Path) -> list[str]:
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["variant"] for line in lines]


def test_every_attacker_on_every_defence(
    model: Path, prepared: PreparedData, toy_encoder: toy.ToyEncoder, beir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def run(*defences: str, **also: Any) -> Any:
        trials = TrialsConfig(defences=defences, **{**TRIALS, **also})
        return run_trials(model, prepared.folder, out, CONFIG, trials, encoder=toy_encoder, plots=False)

    run("rotation", against=("unaware", "aware"))
    first = variants(out)
    assert set(first) == {
        "another text's vector|shuffled", "none|unaware", "none|aware", "rotation|unaware", "rotation|aware",
    }  # fmt: skip
    # The same folder takes further defences, attackers and benchmarks, and measures nothing twice.
    report = run("rotation", "truncation:removed=0.5", "gaussian:sigma=1000000", retrieval=(beir,))
    rows = variants(out)
    assert rows[: len(first)] == first
    assert len(rows) == len(set(zip(rows, _samples(out), strict=True)))
    assert rows.count("rotation|pairs-90") == rows.count("none|unaware") == 5
    assert rows.count("rotation|encoder") == 2  # the guided search has fewer texts
    assert "truncation:removed=0.5|unaware" not in rows

    defences, attackers = report.tables
    by_label = {row.label: row for row in defences.rows}
    assert by_label["rotation"].figures["beir/ndcg"] == by_label["none"].figures["beir/ndcg"]
    assert by_label["rotation"].figures["kept"].value == pytest.approx(1.0)
    assert by_label["rotation"].figures["neighbours"].value == 1.0
    noisy = by_label["gaussian:sigma=1000000"].figures
    assert noisy["beir/ndcg"].value < 0.5 < by_label["none"].figures["beir/ndcg"].value
    told = [row.facts["Attacker"] for row in attackers.rows if row.label.startswith("truncation")]
    assert sum("cannot" in one and "numbers a vector" in one for one in told) == 1
    assert report.conclusions[0] == "Against every attacker:"
    rotated = [row for row in attackers.rows if row.label == "rotation"]
    leaks = [
        row.figures["token_f1"].value for row in rotated if row.figures and row.figures["token_f1"].n == 5
    ]
    assert len(leaks) == 4  # and one who searched fewer texts
    assert rotated[-1].facts["Attacker"].startswith("knows the method, matches columns: cannot")
    assert leaks == sorted(leaks, reverse=True)  # the best attacker first
    assert read_report(out) == report


def _samples(folder: Path) -> list[int]:
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["sample"] for line in lines]


def test_what_not_everybody_has_attacked_is_not_recommended(
    model: Path, prepared: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A secret order looks like a perfect defence, until somebody comes who knows pairs.
    trials = TrialsConfig(defences=("rotation",), against=("unaware", "pairs"), known_pairs=(60,))
    run = DefendedAttack.run

    def interrupted(self: DefendedAttack, attacker: Any, store: Any, upto: int) -> None:
        if store.setting.key == "rotation" and attacker.name == "pairs-60":
            raise KeyboardInterrupt
        run(self, attacker, store, upto)

    monkeypatch.setattr(DefendedAttack, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trials(model, prepared.folder, tmp_path / "out", CONFIG, trials, plots=False)
    report = read_report(tmp_path / "out")
    [rotation] = [row for row in report.tables[0].rows if row.label == "rotation"]
    assert rotation.facts["Not attacked yet by"] == "60 known pairs"
    assert rotation.facts["Frontier"] == ""
    assert not any(
        "rotation" in line and "Not attacked by everybody yet" not in line for line in report.conclusions
    )


def test_who_searches_a_few_texts_has_a_random_few(
    model: Path, prepared: PreparedData, toy_encoder: toy.ToyEncoder, tmp_path: Path
) -> None:
    config, few = EvaluateConfig(samples=24, steps=2), {**TRIALS, "guided_samples": 6, "known_pairs": (60,)}
    trials = TrialsConfig(defences=("int8",), against=("unaware", "encoder"), **few)
    run_trials(model, prepared.folder, tmp_path / "out", config, trials, encoder=toy_encoder, plots=False)
    lines = (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    samples: dict[str, list[int]] = {}
    for row in map(json.loads, lines):
        samples.setdefault(row["variant"], []).append(row["sample"])
    every, searched = sorted(samples["none|unaware"]), samples["none|encoder"]
    assert len(searched) == 6
    assert sorted(searched) == sorted(samples["int8|encoder"])  # the same ones behind every defence
    assert set(searched) != set(every[:6])
    assert max(searched) > every[12] > min(searched)


def test_nobody_knows_a_text_that_is_attacked(prepared: PreparedData) -> None:
    # Attacked texts of the training side itself: the worst case.
    samples = draw_samples(prepared, "train", 40, seed=0, tokenizer=prepared.tokenizer())
    found = collect_known(prepared, samples, 80, 8, seed=0)
    attacked = set(text_keys(samples.texts).tolist())
    known, own = (set(text_keys(part.texts).tolist()) for part in (found.known, found.own))
    assert len(known) == len(own) == 80
    assert not attacked & (known | own)
    assert not known & own


def test_names_of_settings() -> None:
    assert split_names("a:x=1,y=2,b, c:z=3") == ["a:x=1,y=2", "b", "c:z=3"]
    keys = [one.key for one in all_settings(["gaussian,rotation"])]
    assert keys[0] == "none"
    assert keys.index("rotation") < keys.index("gaussian:sigma=0.1")  # every method before the ends of curves
    with pytest.raises(UsageError, match="no defence 'gausian'"):
        all_settings(["gausian"])


def test_the_command_writes_report_and_picture(model: Path, prepared: PreparedData, tmp_path: Path) -> None:
    out = tmp_path / "out"
    typed = [
        "--model",
        str(model),
        "--data",
        str(prepared.folder),
        "--samples",
        "4",
        "--steps",
        "2",
        "-o",
        str(out),
    ]
    typed += [
        "--defences",
        "gaussian:sigma=0.5,rotation",
        "--against",
        "unaware,pairs",
        "--known-pairs",
        "60",
    ]
    found = CliRunner().invoke(command, [*typed, "--json"], catch_exceptions=False)
    report = json.loads(found.stdout)
    assert [row["label"] for row in report["tables"][0]["rows"]][-1] == "another text's vector"
    assert {point["curve"] for point in report["scatters"][0]["points"]} >= {"Gaussian noise", "No defence"}
    for name in ("frontier.png", "frontier.svg", "defences.json", "attackers.json", "settings.jsonl"):
        assert (out / name).stat().st_size > 100
    written = (out / "report.md").read_text(encoding="utf-8")
    assert "## What follows" in written
    assert "(frontier.png)" in written


def test_the_command_says_what_is_wrong(prepared: PreparedData, tmp_path: Path) -> None:
    typed = ["--data", str(prepared.folder), "--defences", "rotation", "--known-pairs", "3"]
    found = CliRunner().invoke(command, typed)
    assert isinstance(found.exception, UsageError)
    assert "--known-pairs" in found.exception.message
    typed = ["--data", str(prepared.folder), "--defences", "all", "--models", "a=b"]
    assert "one model" in CliRunner().invoke(command, typed).output
