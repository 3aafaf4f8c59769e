"""Figures over the number of encoder calls: one search for the whole curve, resumed and interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_bench import FLOORS, SMALL, Bench, labels, table

import toy
from unembed.errors import MismatchError, UsageError
from unembed.evaluation import EvaluateConfig
from unembed.model.checkpoint import Checkpoint

CALLS = EvaluateConfig(
    samples=8, steps=2, encoder_calls=(60, 0, 10, 25), floors=False,
    metrics=("exact_match", "token_f1", "cosine"),
)  # fmt: skip


class Counting(toy.ToyEncoder):
    """Counts the texts that it embeds."""

    texts = 0

    def encode(self, texts: Any, **options: Any) -> Any:
        self.texts += len(texts)
        return super().encode(texts, **options)


def test_the_searchs_options_are_its_own(bench: Bench) -> None:
    few = CALLS.model_copy(update={"search_option": ("beam=1", "proposals=1", "sweep=0")})
    default = bench.run(CALLS)
    found = bench.rows
    with pytest.raises(MismatchError):
        bench.run(few)  # not into the same folder
    bench.output = bench.output.with_name("other")
    changed = bench.run(few)
    assert changed.about["guide"]["options"] == ["beam=1", "proposals=1", "sweep=0"]
    assert "beam=1" in changed.facts["Guide"]
    assert "options" not in default.about["guide"]
    assert [row["recovered"] for row in bench.rows] != [row["recovered"] for row in found]


@pytest.mark.parametrize("typed", ["nonsense=1", "beam=0", "max_encoder_calls=5", "beam"])
def test_a_wrong_search_option_is_told(typed: str) -> None:
    with pytest.raises((ValueError, UsageError)):
        EvaluateConfig(search_option=(typed,))


def test_the_curve_over_encoder_calls(bench: Bench) -> None:
    report = bench.run(CALLS)
    curve = table(report, "encoder-calls")
    assert [row.label for row in curve.rows] == ["0", "10", "25", "60"]
    assert [row.x for row in curve.rows] == [0, 10, 25, 60]
    cosines = [row.figures["cosine"].value for row in curve.rows]
    assert cosines == sorted(cosines)
    assert cosines[-1] > cosines[0]
    calls = [row.figures["encoder_calls"].value for row in curve.rows]
    assert calls[0] == 0
    assert all(value <= row.x for value, row in zip(calls, curve.rows, strict=True) if row.x is not None)
    assert all("ambiguous" in row.figures for row in curve.rows)
    # Without a call it is the plain inversion, which the main table has as well.
    for name in ("exact_match", "token_f1", "cosine"):
        assert curve.rows[0].figures[name] == table(report, "main").rows[0].figures[name]
    assert "encoder_calls" not in table(report, "main").rows[0].figures
    assert any("not a comparison" in one.conditions for one in curve.references)
    assert report.facts["Guide"].startswith("toy")


def test_a_smaller_budget_is_the_beginning_of_a_larger_one(bench: Bench, tmp_path: Path) -> None:
    """The curve's points are what runs with these budgets give."""
    bench.run(CALLS)
    texts = {(row["variant"], row["sample"]): row["recovered"] for row in bench.rows}
    for calls in (10, 25):
        bench.output = tmp_path / f"alone-{calls}"
        bench.run(CALLS.model_copy(update={"encoder_calls": (calls,), "strategy": "guided"}))
        alone = {(row["variant"], row["sample"]): row["recovered"] for row in bench.rows}
        assert len(alone) == 8
        assert alone == {key: text for key, text in texts.items() if key[0] == f"0/guided/calls={calls}"}


def test_one_search_for_the_whole_curve(bench: Bench) -> None:
    bench.encoder = Counting(tokenizer=bench.prepared.tokenizer())
    bench.run(CALLS)
    # The largest budget once; and for each of the rows its cosine and the original's, to measure them.
    rows = len(bench.rows)
    assert rows == 5 * 8
    assert bench.encoder.texts <= 8 * 60 + 2 * rows + 8 + 1


def test_a_curve_goes_on_after_a_kill(bench: Bench) -> None:
    whole = bench.run(CALLS)
    path = bench.output / "rows.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]) + lines[20][:40])
    again = bench.run(CALLS)
    assert len({(row["variant"], row["sample"]) for row in bench.rows}) == len(bench.rows) == 5 * 8
    for one, two in zip(table(whole, "encoder-calls").rows, table(again, "encoder-calls").rows, strict=True):
        for name in CALLS.metrics:
            assert one.figures[name] == two.figures[name]


def test_an_interrupted_search_leaves_no_rows(bench: Bench) -> None:
    class Pressed(Counting):
        def encode(self, texts: Any, **options: Any) -> Any:
            if self.texts > 150:
                raise KeyboardInterrupt
            return super().encode(texts, **options)

    bench.encoder = Pressed(tokenizer=bench.prepared.tokenizer())
    with pytest.raises(KeyboardInterrupt):
        bench.run(CALLS)
    assert not [row for row in bench.rows if row["variant"].startswith("0/guided")]


def test_guided_as_the_base_has_the_model_alone_as_its_floor(bench: Bench) -> None:
    config = SMALL.model_copy(update={"strategy": "guided", "samples": 6, "encoder_calls": (20,)})
    report = bench.run(config)
    assert labels(report, "main") == ["guided", *FLOORS]
    guided, _, shuffled, _ = table(report, "main").rows
    assert guided.figures["encoder_calls"].value <= 20
    assert "encoder_calls" not in shuffled.figures
    with pytest.raises(MismatchError, match="variants"):
        bench.run(config.model_copy(update={"encoder_calls": (21,)}))


@pytest.mark.parametrize(
    "how", [{}, {"strategy": "guided", "floors": True}, {"strategy": "guided", "encoder_calls": (0, 60)}]
)
def test_without_a_map_only_guided_searches_are_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.setattr(Checkpoint, "has_map", False)
    config = CALLS.model_copy(update={"encoder_calls": (60,), **how})
    with pytest.raises(UsageError, match="only guided searches") as raised:
        bench.run(config)
    assert "--no-floors" in str(raised.value.hint)
    assert not bench.output.exists()
