"""End to end: the bundled model and encoder on a Qdrant folder with planted personal data and canaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unembed import Inverter
from unembed.audit import AuditReport, audit
from unembed.audit.attackers import WithEncoder
from unembed.canaries import Canary, make_canaries, write_canaries
from unembed.encoders import load_encoder

NAMES = ("Anna Berg", "Tom Hill", "Maria Lopez", "James Smith")
PLAIN = ("I would like to book a table for two.", "Please cancel my order.", "What time is the next train?")
SHORT = [
    *(f"Please call {name} about the invoice tomorrow." for name in NAMES),
    *(
        f"{text} {extra}"
        for text in PLAIN
        for extra in ("Thank you.", "It is urgent.", "Today.", "Please help.")
    ),
    *(f"My order number is {number}." for number in range(1200, 1250)),
]
LONG = " ".join(f"The meeting about project {number} was moved to another day." for number in range(9))


def fill_qdrant(folder: Path, texts: list[str], vectors: np.ndarray) -> str:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))
    params = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
    client.create_collection("notes", vectors_config=params)
    points = [
        models.PointStruct(id=number, vector=vector.tolist(), payload={"page_content": text})
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    client.upsert("notes", points)
    client.close()
    return f"qdrant:{folder}#notes"


@pytest.fixture(scope="module")
def canaries() -> list[Canary]:
    return make_canaries(2, seed=3)


@pytest.fixture(scope="module")
def audited(
    bundled: Inverter, canaries: list[Canary], tmp_path_factory: pytest.TempPathFactory
) -> tuple[AuditReport, Path, str]:
    """One audit that every test here looks at: all attackers, few rows, few calls."""
    folder = tmp_path_factory.mktemp("audit")
    texts = [*SHORT, LONG, *(one.text for one in canaries)]
    address = fill_qdrant(folder / "store", texts, bundled.encode(texts))
    write_canaries(folder / "canaries.jsonl", canaries)
    patched = pytest.MonkeyPatch()
    patched.setattr(WithEncoder, "targets", lambda self, case: case.usual[:2])  # seconds each
    report = audit(
        address, folder / "report", samples=16, seed=1, calls=8, pairs=60, canaries=folder / "canaries.jsonl",
        attackers=("vectors", "surrogate", "encoder", "pairs"),
    )  # fmt: skip
    patched.undo()
    return report, folder / "report", address


def test_the_encoder_is_found_and_everybody_attacks(audited: tuple[AuditReport, Path, str]) -> None:
    report, _, _ = audited
    assert report.status == "complete"
    assert report.encoder.name == "minilm"
    assert report.encoder.verdict == "identified"
    assert report.store.text_field == "page_content"
    assert {one.name: one.status for one in report.attackers} == dict.fromkeys(
        ("vectors", "surrogate", "encoder", "pairs"), "measured"
    )
    encoder = next(one for one in report.attackers if one.name == "encoder")
    assert 0 < encoder.encoder_calls <= 2 * 8
    assert encoder.dollars is None


def test_words_come_back_beyond_the_floors(audited: tuple[AuditReport, Path, str]) -> None:
    report, _, _ = audited
    f1 = report.attackers[0].measure("f1")
    assert f1 is not None
    assert f1.figure.value > 0.5
    assert f1.figure.value > f1.floors[0].figure.value
    assert report.personal is not None
    assert report.personal.reason is None
    assert "number" in report.personal.kinds
    assert any("finds" in limit for limit in report.limits)  # what the detector misses


def test_planted_secrets_are_attacked_though_not_sampled(
    audited: tuple[AuditReport, Path, str], canaries: list[Canary]
) -> None:
    report, folder, _ = audited
    assert report.canaries is not None
    assert (report.canaries.given, report.canaries.planted) == (2, 2)
    canary = report.attackers[0].measure("canary")
    assert canary is not None
    assert canary.total == 2
    for path in folder.iterdir():
        if path.is_file():
            content = path.read_text(encoding="utf-8")
            assert not any(one.secret in content for one in canaries), path.name
            assert not any(name in content for name in NAMES), path.name


def test_the_same_rows_are_drawn_again(audited: tuple[AuditReport, Path, str]) -> None:
    from unembed.audit.sampled_store import sample_store
    from unembed.stores.registry import open_store

    _, _, address = audited
    store = open_store(address)
    try:
        once, again = (sample_store(store, 16, 40, seed=1) for _ in range(2))
    finally:
        store.close()
    assert [row.id for row in once.rows] == [row.id for row in again.rows]
    assert len(once.rows) == 16


def test_rows_of_another_encoder_are_left_out(bundled: Inverter, tmp_path: Path) -> None:
    vectors = bundled.encode(SHORT[:40])
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(384, 384)))
    vectors[::2] = (vectors[::2] @ turn).astype(np.float32)
    path = tmp_path / "mixed.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for text, vector in zip(SHORT[:40], vectors, strict=True):
            file.write(json.dumps({"text": text, "embedding": vector.tolist()}) + "\n")
    report = audit(str(path), tmp_path / "out", samples=40, attackers=("vectors",))
    assert report.encoder.name == "minilm"
    assert report.encoder.verdict == "mixed"
    assert (report.sample.other_encoder, report.sample.short) == (20, 20)
    assert any("left out" in limit for limit in report.limits)


def test_an_unknown_encoder_is_not_guessed(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 384)).astype(np.float32)
    np.save(tmp_path / "v.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    report = audit(str(tmp_path / "v.npy"), tmp_path / "out")
    assert report.encoder.name is None
    assert {one.status for one in report.attackers} == {"skipped"}
    assert report.headline == "Nothing could be measured here: no attacker was possible."


def test_a_store_without_texts_gets_an_estimate_or_none(canaries: list[Canary], tmp_path: Path) -> None:
    texts = [*SHORT[:8], canaries[0].text]
    np.save(tmp_path / "v.npy", load_encoder("minilm").encode(texts))
    write_canaries(tmp_path / "canaries.jsonl", canaries)
    settings: Any = {"encoder": "minilm", "attackers": ("vectors",), "canaries": tmp_path / "canaries.jsonl"}
    report: Any = audit(str(tmp_path / "v.npy"), tmp_path / "out", **settings)
    assert (report.canaries.given, report.canaries.planted) == (2, 1)  # known by its vector
    [attacker] = report.attackers
    assert attacker.estimate.cosine.value > 0.5
    if report.model.calibrated:
        assert attacker.estimate.exact.low <= attacker.estimate.exact.value <= attacker.estimate.exact.high
    else:
        assert attacker.estimate.exact is None
