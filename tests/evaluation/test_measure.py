"""The whole evaluation on a toy model: files, resuming, tables, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_bench import FLOORS, SMALL, Bench, labels, table

import toy
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.data.prepared import PreparedData
from unembed.decode.registry import DECODERS
from unembed.errors import DataError, MismatchError, UsageError
from unembed.evaluation import EvaluateConfig, evaluate
from unembed.evaluation.config import DEFAULT_METRICS
from unembed.evaluation.runner import VariantRunner
from unembed.report import read_report


class WordModel:
    """A causal model in three lines."""

    name = "words"

    def losses(self, texts: list[str]) -> list[tuple[float, int]]:
        return [(float(len(text)), max(1, len(text.split()))) for text in texts]


def test_the_main_table(bench: Bench) -> None:
    report = bench.run()
    assert labels(report, "main") == ["confidence", *FLOORS]
    for row in table(report, "main").rows:
        for name in DEFAULT_METRICS:
            figure = row.figures[name]
            assert figure.n == 24
            assert figure.low is not None
            assert figure.high is not None
            assert figure.low <= figure.value <= figure.high
    first, random = table(report, "main").rows[:2]
    # The model tries lengths, at most 3 steps each.
    assert first.figures["forward_passes"].value >= 1
    assert first.figures["milliseconds"].value > 0
    assert "forward_passes" not in random.figures
    assert random.floor
    assert not first.floor


def test_what_is_written(bench: Bench) -> None:
    report = bench.run(plots=True)
    names = {path.name for path in bench.output.iterdir()} - {".lock"}
    assert names == {
        "rows.jsonl", "plan.json", "manifest.json", "summary.json", "report.md",
        "main.json", "main.png", "main.svg",
    }  # fmt: skip
    assert read_report(bench.output) == report
    assert len(bench.rows) == 4 * 24
    manifest = json.loads((bench.output / "manifest.json").read_text())
    assert manifest["rows"] == 4 * 24
    target = manifest["targets"][0]
    assert target["data"] == bench.prepared.digest
    assert len(target["model"]) == 64
    assert target["trained_on_this_data"]
    assert manifest["versions"]["unembed"]
    assert manifest["seed"] == 0
    assert manifest["length_known"] is False


def test_figures_are_those_of_the_rows(bench: Bench) -> None:
    report = bench.run()
    rows = [row for row in bench.rows if row["variant"] == "0/confidence"]
    hits = sum(row["statistics"]["token_accuracy"][0] for row in rows)
    positions = sum(row["statistics"]["token_accuracy"][1] for row in rows)
    assert table(report, "main").rows[0].figures["token_accuracy"].value == pytest.approx(hits / positions)
    for row in rows:
        assert row["recovered"] == bench.prepared.tokenizer().decode(row["tokens"])


def test_same_seed_same_rows(bench: Bench, tmp_path: Path) -> None:
    def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "seconds": None} for row in rows]

    bench.run()
    first = without_clock(bench.rows)
    bench.output = tmp_path / "again"
    bench.run()
    assert without_clock(bench.rows) == first


def test_goes_on_after_a_kill(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run, calls = VariantRunner.run, []

    def dies(self: VariantRunner, indices: Any) -> Any:
        calls.append(len(indices))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return run(self, indices)

    monkeypatch.setattr(VariantRunner, "run", dies)
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    assert len(bench.rows) == 5 * 8
    rows = bench.output / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-30])  # and the last line only half written
    monkeypatch.setattr(VariantRunner, "run", run)
    resumed = bench.run()
    assert len({(row["variant"], row["sample"]) for row in bench.rows}) == len(bench.rows) == 4 * 24
    bench.output = tmp_path / "whole"
    whole = bench.run()
    for one, two in zip(table(resumed, "main").rows, table(whole, "main").rows, strict=True):
        for name in DEFAULT_METRICS:
            assert one.figures[name].value == pytest.approx(two.figures[name].value)


def test_a_finished_run_decodes_nothing_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bench.run()
    monkeypatch.setattr(VariantRunner, "run", None)
    assert bench.run() == first


def test_other_settings_are_refused(bench: Bench) -> None:
    bench.run()
    with pytest.raises(MismatchError, match="samples was 24, now 25"):
        bench.run(SMALL.model_copy(update={"samples": 25}))


def test_known_and_unknown_length_are_said(bench: Bench, tmp_path: Path) -> None:
    unknown = bench.run()
    bench.output = tmp_path / "known"
    known = bench.run(SMALL.model_copy(update={"known_length": True}))
    assert "unknown" in table(unknown, "main").notes[0]
    assert "Length known" in table(known, "main").notes[0]
    for row in bench.rows:
        if row["variant"].startswith(("0/confidence", "0/random")):
            assert len(row["tokens"]) == row["length"]


def test_the_shuffled_vector_is_the_model_on_another_vector(bench: Bench) -> None:
    bench.run(SMALL.model_copy(update={"known_length": False}))
    by_variant: dict[str, list[str]] = {}
    for row in bench.rows:
        by_variant.setdefault(row["variant"], []).append(row["recovered"])
    # The same vectors in another order: the same texts in another order.
    assert sorted(by_variant["0/confidence"]) == sorted(by_variant["0/confidence/shuffled"])


def test_strategies_remask_noise_lengths_denoising(bench: Bench) -> None:
    config = EvaluateConfig(
        samples=12,
        steps=2,
        strategies=("all",),
        remask=(0.0, 0.2),
        noise=(0.0, 0.5),
        denoising=(0.1, 0.9),
        lengths=True,
        metrics=("token_accuracy", "token_f1"),
    )
    report = bench.run(config)
    assert labels(report, "strategies") == [*DECODERS, *FLOORS]
    assert labels(report, "remask") == ["0", "0.2", *FLOORS]
    assert labels(report, "noise") == ["0", "0.5", *FLOORS]
    main = table(report, "main").rows[0].figures
    assert table(report, "noise").rows[0].figures == main  # no noise is the base
    by_length = table(report, "lengths").rows
    assert sum(row.figures["token_f1"].n for row in by_length if not row.floor) == 12
    assert {row.curve for row in by_length} == {"confidence", *FLOORS}
    denoising = table(report, "denoising")
    assert [column.label for column in denoising.columns] == ["Denoising accuracy"]
    assert [row.x for row in denoising.rows] == [0.1, 0.9]
    assert "from all positions masked" in denoising.notes[1]
    for name in ("main", "strategies", "remask", "noise", "lengths"):
        assert "denoising_accuracy" not in {column.name for column in table(report, name).columns}


@pytest.fixture
def kinds(tmp_path: Path, toy_encoder: toy.ToyEncoder) -> PreparedData:
    """Sixty mails and twenty chats."""
    sentences, sources = toy.sentences(80), []
    for label, some in (("en-mail", sentences[:60]), ("en-chat", sentences[60:])):
        (tmp_path / label).write_text("\n".join(some) + "\n", encoding="utf-8")
        sources.append(f"{label}={tmp_path / label}")
    collect(CollectConfig(source=tuple(sources)), tmp_path / "kinds" / "texts")
    settings = EncodeConfig(seq_len=8, validation_share=0, test_share=1)
    return encode(settings, tmp_path / "kinds" / "texts", tmp_path / "kinds", encoder=toy_encoder)


def test_kinds_have_figures_of_their_own_and_count_alike_in_the_mean(
    bench: Bench, kinds: PreparedData
) -> None:
    bench.prepared = kinds
    report = bench.run(SMALL.model_copy(update={"floors": False, "samples": 80, "words": (50, 5)}))
    found = table(report, "languages")
    assert (found.title, found.axis) == ("By kind of text", "Kind")
    chat, mail, mean = found.rows
    assert [row.label for row in found.rows] == ["en-chat", "en-mail", "mean of 2"]
    figures = [row.figures["token_f1"] for row in found.rows]
    assert figures[2].value == pytest.approx((figures[0].value + figures[1].value) / 2)
    assert figures[2].n == figures[0].n + figures[1].n
    assert mail.figures["token_f1"].n > chat.figures["token_f1"].n
    assert mean.curve == "confidence"

    recall: dict[str, list[float]] = {}
    for row in table(report, "words").rows:
        recall.setdefault(row.label, []).append(row.figures["word_recall"].value)
    assert list(recall) == ["en-chat", "en-mail", "all texts"]
    assert all(few <= many for few, many in recall.values())
    assert recall["all texts"][0] < recall["all texts"][1]


def test_models_and_checkpoints(bench: Bench, make_model: Any) -> None:
    early, late = make_model("m/step-5", seed=1, step=5), make_model("m/step-10", seed=2, step=10)
    other = make_model("other", seed=3)
    data = bench.prepared.folder
    report = bench.run(
        SMALL, models=[(bench.model, data), (other, data)], checkpoints=[late, early]
    )  # fmt: skip
    assert labels(report, "checkpoints") == ["5", "10", *FLOORS]
    assert [row.x for row in table(report, "checkpoints").rows[:2]] == [5.0, 10.0]
    assert labels(report, "models")[:2] == ["toy-model", "other"]
    assert labels(report, "models")[4] == "Nearest training text, toy-model"
    assert table(report, "models").rows[0].facts["Encoder"] == "toy"
    assert table(report, "models").rows[0].facts["Steps"] == "100"


def test_models_for_several_encoders(
    bench: Bench, texts: Path, make_model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model inverts the same texts' vectors by its own encoder: the paper's table 1."""
    encoders = {"toy": bench.encoder, "wide": toy.ToyEncoder(dimension=24, name="wide")}
    monkeypatch.setattr("unembed.evaluation.targets.load_encoder", lambda name, **_: encoders[name])
    wide = tmp_path / "wide"
    encoding = EncodeConfig(seq_len=8, validation_share=0.2, test_share=0.2)
    other = make_model("other", data=encode(encoding, texts, wide, encoder=encoders["wide"]))
    config = SMALL.model_copy(update={"floors": False})
    models = [(bench.model, bench.prepared.folder), (other, wide)]
    report = bench.run(config, models=models, encoder=None)
    first, second = table(report, "models").rows
    assert (first.facts["Encoder"], second.facts["Encoder"]) == ("toy", "wide")
    assert (first.facts["Dim"], second.facts["Dim"]) == ("16", "24")
    assert (first.facts["Samples"], first.facts["Minutes"]) == ("6,400", "2")
    assert "cosine" in second.figures
    assert any("each model's own encoder" in note for note in table(report, "models").notes)
    assert not any("each model's own encoder" in note for note in table(report, "main").notes)


def test_perplexity_has_the_originals_beside_it(bench: Bench) -> None:
    config = SMALL.model_copy(update={"perplexity": "words", "metrics": ("exact_match", "cosine")})
    report = bench.run(config, causal=WordModel())
    assert labels(report, "main")[1] == "Original text"
    original = table(report, "main").rows[1].figures
    assert original["exact_match"].value == 1.0
    assert original["cosine"].value > 0.999  # vectors are stored in 16 bits
    assert original["perplexity"].n == 24


def test_a_model_of_fixed_length(bench: Bench, make_model: Any) -> None:
    bench.model = make_model("fixed", length="fixed")
    report = bench.run(SMALL.model_copy(update={"denoising": (0.5,)}))
    assert table(report, "main").rows[0].figures["token_accuracy"].n == 24
    with pytest.raises(UsageError, match="takes no length"):
        bench.run(SMALL.model_copy(update={"known_length": True}), output=bench.output / "known")


def test_vectors_of_another_encoder_are_refused(
    bench: Bench, texts: Path, tmp_path: Path, toy_tokenizer: Any
) -> None:
    from unembed.data.config import EncodeConfig
    from unembed.data.encode import encode

    stranger = toy.ToyEncoder(name="stranger", tokenizer=toy_tokenizer)
    other = encode(EncodeConfig(seq_len=8), texts, tmp_path / "other", encoder=stranger)
    with pytest.raises(DataError, match="stranger"):
        evaluate(bench.model, other.folder, bench.output, SMALL, encoder=bench.encoder)


def test_one_text_has_no_floors(bench: Bench) -> None:
    with pytest.raises(UsageError, match="--no-floors"):
        bench.run(SMALL.model_copy(update={"samples": 1}))
    report = bench.run(SMALL.model_copy(update={"samples": 1, "floors": False}))
    assert table(report, "main").rows[0].figures["token_f1"].low is None


def test_the_training_split_says_so(bench: Bench) -> None:
    report = bench.run(SMALL.model_copy(update={"split": "train"}))
    assert any("memorised" in note for note in table(report, "main").notes)


def test_the_folder_is_named_after_what_is_measured(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.run(output=None)
    bench.run(SMALL.model_copy(update={"seed": 1}), output=None)
    bench.run(output=None)
    folders = list((tmp_path / "evaluations").iterdir())
    assert len(folders) == 2
    assert all(folder.name.startswith("toy-model-") for folder in folders)
