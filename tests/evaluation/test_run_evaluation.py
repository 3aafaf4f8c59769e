"""`unembed.evaluate`: one call; a run is resumed only by what would give the same rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toy
import unembed
from unembed.data.prepared import PreparedData
from unembed.errors import MismatchError, UsageError
from unembed.evaluation import EvaluateConfig
from unembed.model.checkpoint import load_checkpoint
from unembed.model.trigrams import Phrases
from unembed.progress import SilentProgress

GUIDED = {"samples": 6, "steps": 2, "batch": 1, "encoder_calls": (0, 1, 2), "floors": False}


class Counting(toy.ToyEncoder):
    """Counts how often it embeds each text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: Counter[str] = Counter()

    def encode(self, texts: Any, **options: Any) -> Any:
        self.seen.update(texts)
        return super().encode(texts, **options)


@pytest.fixture
def counting(prepared: PreparedData) -> Counting:
    return Counting(tokenizer=prepared.tokenizer())


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def test_one_call_from_python(
    model: Path, prepared: PreparedData, counting: Counting, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    report = unembed.evaluate(model, prepared.folder, out, samples=6, steps=2, encoder=counting, plots=False)
    first, *floors = report.tables[0].rows
    assert first.label == "confidence"
    assert first.figures["token_f1"].n == 6
    assert len(floors) == 3
    assert {row["variant"] for row in rows(out)} == {
        "0/confidence", "0/random", "0/confidence/shuffled", "0/nearest",
    }  # fmt: skip
    same = unembed.evaluate(
        model, prepared.folder, out, EvaluateConfig(samples=99, steps=2), samples=6, encoder=counting,
        plots=False,
    )  # fmt: skip
    assert same == report  # a field given by name counts more than the configuration's


@pytest.mark.parametrize(("wrong", "hint"), [({"sampels": 5}, "samples"), ({"noise": (-1,)}, "Gaussian")])
def test_a_wrong_setting_is_a_usage_error(
    model: Path, prepared: PreparedData, wrong: dict[str, Any], hint: str
) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))) as caught:
        unembed.evaluate(model, prepared.folder, **wrong)
    assert hint in str(caught.value.hint)


def put_phrases(folder: Path, repeat: int) -> None:
    vocabulary = load_checkpoint(folder).vocabulary
    Phrases.count([[0, 1, 2]] * repeat, vocabulary).save(folder / "phrases.npz")


def test_a_search_with_other_phrases_does_not_resume(
    model: Path, prepared: PreparedData, counting: Counting, tmp_path: Path
) -> None:
    def run() -> None:
        unembed.evaluate(model, prepared.folder, tmp_path / "out", encoder=counting, plots=False, **GUIDED)

    put_phrases(model, 3)
    run()
    run()
    put_phrases(model, 4)
    with pytest.raises(MismatchError, match="phrases"):
        run()
    (model / "phrases.npz").unlink()
    with pytest.raises(MismatchError, match="phrases"):
        run()


def test_the_phrases_of_every_model_count(
    model: Path, make_model: Callable[..., Path], prepared: PreparedData, counting: Counting, tmp_path: Path
) -> None:
    early = make_model("early", seed=1, step=5)
    settings = {**GUIDED, "encoder_calls": (2,), "strategy": "guided", "metrics": ("token_f1",)}

    def run() -> None:
        unembed.evaluate(
            model, prepared.folder, tmp_path / "out", checkpoints=[early], encoder=counting, plots=False,
            **settings,
        )  # fmt: skip

    run()
    put_phrases(early, 3)
    with pytest.raises(MismatchError, match=r"targets\[1\].*phrases"):
        run()


def test_a_plain_run_does_not_depend_on_phrases(
    model: Path, prepared: PreparedData, counting: Counting, tmp_path: Path
) -> None:
    def run() -> Any:
        return unembed.evaluate(
            model, prepared.folder, tmp_path / "out", encoder=counting, plots=False, samples=4, steps=2
        )

    first = run()
    put_phrases(model, 3)
    assert run() == first


def test_an_original_is_embedded_once_ever(
    model: Path, prepared: PreparedData, counting: Counting, tmp_path: Path
) -> None:
    """In all variants and batches together, also after a resume."""
    out = tmp_path / "out"

    class Words:
        name = "words"

        def losses(self, texts: list[str]) -> list[tuple[float, int]]:
            return [(float(len(text)), 1) for text in texts]

    def run() -> None:
        unembed.evaluate(
            model, prepared.folder, out, encoder=counting, causal=Words(), perplexity="words", plots=False,
            metrics=("token_f1", "cosine"), **GUIDED,
        )  # fmt: skip

    run()
    measured = rows(out)
    originals = {row["target"] for row in measured}
    assert len(originals) == 6
    assert not [row for row in measured if "guided" in row["variant"] and row["recovered"] in originals]
    assert {text: counting.seen[text] for text in originals} == dict.fromkeys(originals, 1)
    lines = (out / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (out / "rows.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    run()
    assert len(rows(out)) == len(measured)
    assert {text: counting.seen[text] for text in originals} == dict.fromkeys(originals, 1)


def test_the_scan_for_neighbours_shows_on_the_bar(
    model: Path, prepared: PreparedData, counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class Bar(SilentProgress):
        def describe(self, text: str) -> None:
            told.append(text)

    @contextmanager
    def bar(*_: Any, **__: Any) -> Iterator[Bar]:
        yield Bar()

    monkeypatch.setattr("unembed.evaluation.measure.progress_bar", bar)
    unembed.evaluate(
        model, prepared.folder, tmp_path / "out", encoder=counting, plots=False, samples=4, steps=2
    )
    train = len(prepared.split("train"))
    assert f"nearest: {train:,} of {train:,} training texts compared" in told
    assert told[-1] == "toy-model: nearest"
