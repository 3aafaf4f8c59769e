"""`audit` end to end on a real store of every kind, filled with the bundled encoder's vectors.

The texts hold personal data and canaries; where a store says which model made its vectors, it names another
one. PostgreSQL is read by a user who may only SELECT.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from every_store import Stores, in_memory
from file_state import state_of
from filled import Content
from filled_servers import READER
from qdrant_over_http import QdrantOverHttp
from servers import PASSWORD

from unembed import Inverter
from unembed.audit import AuditReport, audit, auditor, public_texts
from unembed.canaries import Canary, make_canaries, write_canaries
from unembed.errors import DataError, UnavailableError
from unembed.stores import connection

WITH_TEXTS = (
    "npz", "jsonl", "parquet", "qdrant", "qdrant_server", "chroma", "chroma_server", "lancedb", "pgvector",
    "milvus", "sqlite_vec", "duckdb", "redis",
)  # fmt: skip
WITHOUT_TEXTS = ("npy", "safetensors", "faiss")
SAYS_A_MODEL = {"safetensors", "chroma", "chroma_server", "duckdb", "pgvector"}
FORMATS = {"report.html", "report.json", "report.md", "report.junit.xml", "report.sarif"}
NAMES = ("Anna Berg", "Tom Hill", "Maria Lopez", "James Smith")
TEXTS = [
    *(f"Please call {name} about the invoice." for name in NAMES),
    *(f"My order number is {number}." for number in (1204, 1377, 1590, 1648)),
    *(f"Send it to {name.split()[0].lower()}@example.com, please." for name in NAMES),
    "I would like to book a table for two.",
    "What time is the next train?",
    "The cat sat on the mat.",
    "It is raining again today.",
    "Where is the nearest station?",
    "We had a lovely time at the beach.",
    "Could you help me with my homework?",
    "He never came back from the war.",
    "This film was a waste of time.",
    " ".join(f"The meeting about project {number} was moved to another day." for number in range(9)),
]
SECRETS = 2  # canaries


@pytest.fixture(scope="session")
def canaries() -> list[Canary]:
    return make_canaries(SECRETS, seed=3)


@pytest.fixture(scope="session")
def messages(bundled: Inverter, canaries: list[Canary]) -> Content:
    """The texts and their vectors, and the name of a model that did not make them."""
    texts = [*TEXTS, *(one.text for one in canaries)]
    return Content(bundled.encode(texts), [*texts], model="all-mpnet-base-v2")


@pytest.fixture(scope="session")
def filled(memory_folder: Path, messages: Content) -> Iterator[Stores]:
    with tempfile.TemporaryDirectory(dir=memory_folder) as folder, ExitStack() as exits:
        yield Stores(Path(folder), exits, messages)


@pytest.fixture(autouse=True)
def _quickly(bundled: Inverter, memory_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every audit here has the same model: loading it, or embedding thousands of texts, would take longer."""
    monkeypatch.setattr(auditor.Inverter, "from_pretrained", lambda *_, **__: bundled)
    monkeypatch.setattr(public_texts, "COUNT", 40)
    monkeypatch.setenv("UNEMBED_HOME", str(memory_folder))


def run(address: str, folder: Path, canaries: list[Canary], **settings: Any) -> AuditReport:
    """The cheapest attacker on few rows."""
    write_canaries(folder / "canaries.jsonl", canaries)
    cheap: dict[str, Any] = {"samples": 6, "seed": 1, "attackers": ("vectors",), **settings}
    return audit(address, folder / "report", canaries=folder / "canaries.jsonl", **cheap)


@pytest.mark.parametrize("name", [*WITH_TEXTS, *WITHOUT_TEXTS])
def test_a_store_of_every_kind(
    name: str, filled: Stores, messages: Content, canaries: list[Canary], tmp_path: Path
) -> None:
    store = filled(name)
    store.fingerprint()  # servers count commands
    files, content = state_of(store.files), store.fingerprint()
    report = run(store.address, tmp_path, canaries, vector=store.vector)
    assert (state_of(store.files), store.fingerprint()) == (files, content)  # nothing was written

    assert report.status == "complete"
    assert (report.store.kind, report.store.dimension) == (store.kind, messages.width)
    assert report.encoder.name == "minilm"
    assert any("does not fit" in one for one in report.encoder.says) == (name in SAYS_A_MODEL)
    assert (report.canaries.given, report.canaries.planted) == (SECRETS, SECRETS)  # type: ignore[union-attr]
    [attacker] = report.attackers
    assert (attacker.status, attacker.n) == ("measured", report.sample.short)
    assert attacker.measure("canary") is not None
    if name in WITH_TEXTS:
        f1 = attacker.measure("f1")
        assert f1 is not None
        assert f1.figure.value > max(floor.figure.value for floor in f1.floors)
        assert report.personal is not None
        assert report.personal.total > 0
    else:
        assert attacker.estimate is not None
        assert attacker.estimate.cosine is not None
    _holds_no_text(tmp_path / "report", canaries)


def test_who_knows_how_a_text_begins(filled: Stores, canaries: list[Canary], tmp_path: Path) -> None:
    """With its vector he guesses more of the rest than with another's."""
    report = run(filled("jsonl").address, tmp_path, canaries, attackers=("beginning",), samples=12)
    [short] = report.completions
    f1, words = short.measures[1:]
    assert f1.leaked.value > 0.1
    assert words.leaked.value > 0.1
    assert report.headline.startswith("Who knows how a text begins")
    _holds_no_text(tmp_path / "report", canaries)


def _holds_no_text(folder: Path, canaries: list[Canary]) -> None:
    """All formats are there, and neither a name, a secret nor a password is in any of them."""
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}
    assert set(written) >= FORMATS
    assert json.loads(written["report.sarif"])["version"] == "2.1.0"
    for content in written.values():
        for word in (*NAMES, *(one.secret for one in canaries), PASSWORD):
            assert word not in content


def test_the_user_of_the_database_may_only_read(filled: Stores) -> None:
    """What the audit above ran as: a user without the right to write, in a session that refuses to."""
    import psycopg

    address = filled("pgvector").address
    assert address.startswith(f"pgvector://{READER}@")
    port = filled.running["pgvector"].port
    with (
        psycopg.connect(host="127.0.0.1", port=port, user=READER, dbname="postgres") as database,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        database.execute("DELETE FROM notes")


@pytest.mark.parametrize("name", ["npy", "faiss", "qdrant", "chroma_server", "lancedb", "pgvector", "duckdb"])
def test_an_empty_one(name: str, filled: Stores, canaries: list[Canary], tmp_path: Path) -> None:
    store = filled(name)
    assert store.empty is not None
    with pytest.raises(DataError, match="holds no vectors"):
        run(store.empty, tmp_path, canaries, vector=store.vector)
    assert not (tmp_path / "report" / "report.json").exists()


def test_one_that_dies_in_the_middle(
    messages: Content, canaries: list[Canary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No report of half a store; when it answers again, the same command makes one."""
    monkeypatch.setattr(connection, "PAUSE", 0.01)
    monkeypatch.setattr("unembed.stores.qdrant_server.page_size", lambda *_: 5)
    with QdrantOverHttp(in_memory(messages)).running() as server:
        address = f"qdrant://127.0.0.1:{server.port}#notes"
        server.scrolls_left = 3
        with pytest.raises(UnavailableError, match="stopped answering after"):
            run(address, tmp_path, canaries)
        assert not (tmp_path / "report" / "report.json").exists()
        server.scrolls_left = None
        assert run(address, tmp_path, canaries).status == "complete"
