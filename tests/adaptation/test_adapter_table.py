"""The recipe that measures adapters: resumable rows, one folder for a base, a table from rows alone."""

from __future__ import annotations

import json
from pathlib import Path

import embedded
import pytest
import table
from measured_texts import LEAST, MOST, measured_texts
from rotated import DIM, Rotated
from table_report import Report

import toy
from unembed.errors import MismatchError, UnembedError
from unembed.text import tokenise

PAIRS = 120  # as many as the largest size


class Cased(Rotated):
    """The same, and what is written in capitals is further to one side."""

    def __init__(self) -> None:
        super().__init__()
        self.info = self.info.model_copy(update={"name": "cased", "digest": "c" * 64})

    def encode(self, texts, *, batch_tokens: int = 4096):
        vectors = super().encode(texts)
        for row, text in enumerate(texts):
            vectors[row, 0] += 0.1 * sum(letter.isupper() for letter in text)
        return vectors

    def tokenizer(self):
        raise UnembedError("an endpoint has none")  # so that it is asked what it tells apart


class Bench:
    """The recipe's command on toys; it counts what is embedded."""

    def __init__(self, base: Path, folder: Path) -> None:
        typed = (
            f"--state {folder}/state --held-out {folder}/held-out --base {base} --kinds short,bank --quiet"
        )
        numbers = "--sizes 60,120 --samples 3 --guided-pairs 60 --guided-samples 2 --calls 0,5,12"
        self.typed = [*typed.split(), *numbers.split()]
        self.encoders = {"toy": toy.ToyEncoder(dimension=DIM), "rotated": Rotated(), "cased": Cased()}
        self.folder = Path()

    def load(self, name: str):
        return self.encoders[name]

    def run(self, *more: str, encoders: str = "rotated") -> str:
        options = table.options([*self.typed, "--encoders", encoders, *more])
        self.folder = table.measure(options, self.load)
        return Report(self.folder, order=options.encoders, kinds=options.kinds).markdown()

    def rows(self, run: str) -> list[dict]:
        lines = (self.folder / run / "rows.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def cells(self, markdown: str, title: str, line: str) -> dict[str, str]:
        """A line of the table under a title, by column."""
        lines = markdown.split(f"**{title}")[1].split("\n\n")[1].splitlines()
        head, found = lines[0], next(one for one in lines if one.startswith(f"| {line}"))
        return {
            name.strip(): cell.strip()
            for name, cell in zip(head.split("|")[1:-1], found.split("|")[1:-1], strict=True)
        }


@pytest.fixture
def bench(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(embedded, "default_texts", lambda count, fits: toy.sentences(PAIRS))
    (tmp_path / "held-out").mkdir()
    for seed, kind in enumerate(("short", "bank")):
        lines = "".join(f"{text}\n" for text in toy.sentences(8, seed=seed + 5))
        (tmp_path / "held-out" / f"{kind}.txt").write_text(lines, encoding="utf-8")
    return Bench(base, tmp_path)


def test_a_line_for_every_encoder_a_column_for_every_attack(bench: Bench) -> None:
    markdown = bench.run()
    cells = bench.cells(markdown, "Token F1 %, mean", "rotated")
    assert list(cells)[1:] == ["n", "60", "120", "60, 0 calls", "60, 5 calls", "60, 12 calls"]
    assert all(cells.values())
    assert cells["n"] == "6, 2 searched"
    native = bench.cells(markdown, "Token F1 %, mean", "*toy, its own model*")
    assert native["60"] == ""
    assert native["120"] != ""
    assert native["60, 12 calls"] != ""
    assert "as written" not in markdown  # neither encoder tells case apart
    assert "ALGEN" in markdown
    minutes = bench.cells(markdown, "From nothing", "rotated")
    assert (minutes["pairs"], minutes["threads"]) == ("60", "1")
    budgets = {row["variant"]: row["encoder_calls"] for row in bench.rows("rotated-60-guided-12")}
    assert budgets["calls=0"] == 0
    assert budgets["calls=5"] <= 5 < budgets["calls=12"] <= 12


def test_a_killed_run_goes_on_and_measures_nothing_twice(bench: Bench) -> None:
    whole = bench.run()
    before = bench.rows("rotated-60-guided-12")
    path = bench.folder / "rotated-60-guided-12" / "rows.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # the second text was in flight
    seen = bench.encoders["rotated"].seen
    assert bench.run() == whole
    after = bench.rows("rotated-60-guided-12")
    assert [row | {"seconds": 0} for row in after] == [row | {"seconds": 0} for row in before]
    # That text's search, and the cosine of what the vector alone gives; no vector else.
    assert 0 < bench.encoders["rotated"].seen - seen <= 12 + 1
    again = bench.encoders["rotated"].seen
    assert bench.run() == whole
    assert bench.encoders["rotated"].seen == again


def test_more_samples_are_added_to_those_that_are_there(bench: Bench) -> None:
    bench.run("--only", "plain")
    before = bench.rows("rotated-120")
    bench.run("--only", "plain", "--samples", "5")
    rows = bench.rows("rotated-120")
    assert rows[: len(before)] == before
    assert len(rows) == 10
    assert {row["language"] for row in rows} == {"short", "bank"}


def test_other_settings_are_refused_and_another_base_begins_anew(bench: Bench, base: Path) -> None:
    bench.run("--only", "plain")
    first = bench.folder
    with pytest.raises(MismatchError, match="seed"):
        bench.run("--only", "plain", "--seed", "1")
    described = json.loads((base / "config.json").read_text(encoding="utf-8"))
    described["denoiser"]["repeat_penalty"] = 0.5
    (base / "config.json").write_text(json.dumps(described), encoding="utf-8")
    bench.run("--only", "plain")
    assert bench.folder != first


def test_what_is_there_is_reported_without_measuring(bench: Bench) -> None:
    bench.run("--only", "plain")
    seen = bench.encoders["rotated"].seen
    markdown = bench.run("--only", "report")
    assert bench.encoders["rotated"].seen == seen
    cells = bench.cells(markdown, "Token F1 %, mean", "rotated")
    assert list(cells)[1:] == ["n", "60", "120"]


def test_an_encoder_that_tells_case_apart_is_counted_as_written_too(bench: Bench) -> None:
    markdown = bench.run("--only", "guided", encoders="rotated,cased")
    cells = bench.cells(markdown, "Exact as written", "cased")
    assert " / " in cells["60, 12 calls"]
    section = markdown.split("**Exact as written")[1].split("\n\n")[1]
    assert "rotated" not in section


def test_measured_texts_are_of_the_lengths_and_none_of_the_pairs() -> None:
    tokenizer, every = toy.wordpiece(), toy.sentences(60)
    taken = [every[3].upper(), every[5]]
    found = measured_texts([*every, *every, "The cat.", ""], taken, 20, tokenizer)
    assert len(found) == len(set(found)) == 20
    assert found == measured_texts([*every, *every, "The cat.", ""], taken, 20, tokenizer)
    assert not {every[3], every[5], "The cat."} & set(found)
    assert all(LEAST <= len(ids) <= MOST for ids in tokenise(tokenizer, found))
    assert found != every[:20]
