"""The whole audit on a toy store and a toy model: what is left behind, what goes on, and what ends it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_cases import write_store

import toy
from unembed.audit import attackers, auditor
from unembed.audit.audit_config import AuditConfig
from unembed.audit.auditor import UNFINISHED, audit
from unembed.audit.dry_run import forecast
from unembed.errors import DataError, MismatchError, UnavailableError, UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.stores.base import BATCH, Row, Store
from unembed.stores.registry import open_store


@pytest.fixture(autouse=True)
def _no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toy words hold no personal data, and the detector takes seconds to load."""
    monkeypatch.setattr(
        "unembed.audit.personal_data.find_personal", lambda texts, progress: [[] for _ in texts]
    )


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_complete_audit_leaves_figures_and_no_texts(
    store_file: Path, toy_model: Path, tmp_path: Path
) -> None:
    report = audit(str(store_file), tmp_path / "out", samples=12, model=str(toy_model))
    assert report.status == "complete"
    assert (report.sample.drawn, report.sample.short, report.sample.others) == (12, 12, 68)
    by_name = {one.name: one for one in report.attackers}
    assert by_name["vectors"].status == "measured"
    assert by_name["vectors"].n == 12
    # What is not possible here is a result with a reason.
    assert by_name["surrogate"].status == "skipped"
    assert "without a surrogate" in (by_name["surrogate"].reason or "")
    assert "There is no encoder 'toy'" in (by_name["encoder"].reason or "")
    assert by_name["pairs"].status == "skipped"
    left = {path.name for path in (tmp_path / "out").iterdir()} - {".lock"}
    assert left == {
        "report.html",
        "report.json",
        "report.md",
        "report.junit.xml",
        "report.sarif",
        "rows.jsonl",
    }
    found = rows(tmp_path / "out")
    assert Counter(one["attacker"] for one in found) == {
        "vectors": 12,
        "beginning": 12,
        "beginning-floor": 12,
    }
    assert all(one["recovered"] is None and one["original"] is None for one in found)
    assert all({"exact", "f1"} <= set(one["statistics"]) for one in found)


def test_texts_stay_where_asked_for(store_file: Path, toy_model: Path, tmp_path: Path) -> None:
    report = audit(
        str(store_file),
        tmp_path / "out",
        samples=4,
        model=str(toy_model),
        show_texts=True,
        attackers=("vectors",),
    )
    assert report.shows_texts
    assert all(one["original"].startswith("The ") for one in rows(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "black" not in page.split("Examples")[1].split("</section>")[0]


def test_without_texts_nothing_is_compared(toy_model: Path, tmp_path: Path) -> None:
    path = write_store(tmp_path / "bare.jsonl", toy.sentences(10), with_texts=False)
    report = audit(
        str(path), tmp_path / "out", samples=6, model=str(toy_model), attackers=("vectors", "pairs")
    )
    assert not report.sample.with_texts
    vectors, pairs = report.attackers
    assert vectors.measures == ()
    assert vectors.estimate is not None
    assert vectors.estimate.basis.startswith("not calibrated for this model")
    assert pairs.reason == "The store has no texts to fit an adapter on."
    assert "no claim is made" in report.headline


class Interrupted:
    """Ctrl-C in the second batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
        self.batches = 0
        before = attackers.VectorsOnly.recover
        monkeypatch.setattr(attackers.VectorsOnly, "at_once", 4)

        def recover(attacker: Any, *args: Any) -> Any:
            self.batches += 1
            if self.batches == 2:
                raise error
            return before(attacker, *args)

        monkeypatch.setattr(attackers.VectorsOnly, "recover", recover)


def without_times(report: Any) -> dict[str, Any]:
    dumped = report.model_dump(mode="json", exclude={"created"})
    for one in dumped["attackers"]:
        one["seconds_per_vector"] = None
    return dumped


def test_ctrl_c_leaves_a_report_and_the_rest_is_done_later(
    store_file: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"samples": 12, "model": str(toy_model), "attackers": ("vectors",)}
    whole = audit(str(store_file), tmp_path / "whole", **settings)
    counted = Interrupted(monkeypatch, KeyboardInterrupt())
    first = audit(str(store_file), tmp_path / "out", **settings)
    assert first.status == "interrupted"
    [attacker] = first.attackers
    assert (attacker.status, attacker.n, attacker.wanted) == ("interrupted", 4, 12)
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "out" / UNFINISHED / "rows.jsonl").exists()
    with pytest.raises(MismatchError, match="made with other settings"):
        audit(str(store_file), tmp_path / "out", **{**settings, "samples": 13})
    store_file.rename(store_file.with_name("moved.jsonl"))  # it is not read again...
    write_store(store_file, toy.sentences(3, seed=9))  # ...whatever it holds now
    second = audit(str(store_file), tmp_path / "out", **settings)
    assert counted.batches == 4  # four rows, none again, eight more
    assert second.status == "complete"
    assert without_times(second)["attackers"] == without_times(whole)["attackers"]
    assert not (tmp_path / "out" / UNFINISHED).exists()


def test_what_dies_in_the_middle_leaves_a_report_and_its_error(
    store_file: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Interrupted(monkeypatch, UnavailableError("The endpoint does not answer."))
    with pytest.raises(UnavailableError, match="does not answer"):
        audit(str(store_file), tmp_path / "out", samples=12, model=str(toy_model), attackers=("vectors",))
    report = auditor.read_audit(tmp_path / "out")
    assert (report.status, report.problem) == ("failed", "The endpoint does not answer.")
    assert report.attackers[0].n == 4


class Dying:
    """A store that stops answering after its first page."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        for page in self._store.scroll(20):
            yield page
            raise UnavailableError("The store does not answer any more.", hint="Try again.")

    def close(self) -> None:
        self.closed = True


def test_half_a_store_is_no_sample(
    store_file: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of a store are not a random choice: nothing is claimed of them."""
    opened: list[Dying] = []

    def dying(address: str, **options: Any) -> Dying:
        opened.append(Dying(open_store(address, **options)))
        return opened[-1]

    monkeypatch.setattr(auditor, "open_store", dying)
    with pytest.raises(UnavailableError, match="does not answer any more"):
        audit(str(store_file), tmp_path / "out", samples=12, model=str(toy_model))
    assert opened[0].closed
    assert not (tmp_path / "out" / "report.json").exists()
    monkeypatch.undo()
    monkeypatch.setattr(
        "unembed.audit.personal_data.find_personal", lambda texts, progress: [[] for _ in texts]
    )
    again = audit(str(store_file), tmp_path / "out", samples=12, model=str(toy_model))
    assert again.status == "complete"


def test_an_empty_store_is_an_error(toy_model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 16), dtype=np.float32))
    with pytest.raises(DataError, match="holds no vectors"):
        audit(str(tmp_path / "none.npy"), tmp_path / "out", model=str(toy_model))


def test_vectors_of_another_width_and_broken_ones_are_left_out(toy_model: Path, tmp_path: Path) -> None:
    vectors = toy.ToyEncoder(tokenizer=toy.wordpiece()).encode(toy.sentences(8))
    vectors[2, 3] = np.nan
    np.save(tmp_path / "v.npy", vectors)
    report = audit(str(tmp_path / "v.npy"), tmp_path / "out", model=str(toy_model), attackers=("vectors",))
    assert (report.sample.drawn, report.sample.unusable, report.attackers[0].n) == (8, 1, 7)


def test_no_model_fits(store_file: Path, toy_model: Path, tmp_path: Path) -> None:
    """Everybody is skipped with the reason and the next step; that is a report too."""
    report = audit(
        str(store_file),
        tmp_path / "out",
        samples=6,
        encoder="mpnet",
        attackers=("vectors", "surrogate", "encoder"),
    )
    assert {one.status for one in report.attackers} == {"skipped"}
    assert all("unembed adapt --encoder mpnet" in (one.reason or "") for one in report.attackers)
    assert report.model is None
    assert any("unembed adapt" in step for step in report.next_steps)


def test_a_dry_run_reads_little_and_writes_nothing(
    store_file: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = forecast(str(store_file), AuditConfig(samples=50, model=str(toy_model)))
    assert (found.rows, found.drawn, found.encoder) == (80, 50, "toy")
    by_name = {one.name: one for one in found.attackers}
    assert by_name["vectors"].possible
    assert by_name["vectors"].vectors == 50
    assert by_name["vectors"].seconds is not None
    assert not by_name["encoder"].possible
    assert by_name["beginning"].possible
    assert "not possible" in "\n".join(found.lines())
    assert not (tmp_path / "audits").exists()


def test_an_adapter_without_a_map_audits_nothing(
    store_file: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "has_map", False)
    with pytest.raises(UsageError, match="without pairs"):
        audit(str(store_file), tmp_path / "out", samples=6, model=str(toy_model))
    assert not (tmp_path / "out").exists()
