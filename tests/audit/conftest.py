"""Audits of toy stores: a tiny model, hashed words as vectors, rows that say what was recovered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from audit_cases import STORE, MakeCase, write_store

import tiny
import toy
from unembed.audit import public_texts
from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import EncoderFinding
from unembed.audit.case import Case, make_case
from unembed.audit.sampled_store import Planted, SampledStore
from unembed.audit.which_encoder import ChosenModel
from unembed.inverter import Inverter
from unembed.stores.base import Row


@pytest.fixture(scope="session", autouse=True)
def _few_public_texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Embedding thousands takes seconds; and the developer's own home is left alone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(public_texts, "COUNT", 40)
        patched.setenv("UNEMBED_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def toy_inverter() -> Inverter:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    model = tiny.checkpoint(
        toy.wordpiece(), encoder.info, max_length=24, fit_to=encoder.encode(toy.sentences(50))
    )
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="session")
def toy_model(toy_inverter: Inverter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a folder."""
    return tiny.save(toy_inverter.checkpoint, tmp_path_factory.mktemp("model") / "toy-model")


@pytest.fixture
def make_case_of(toy_inverter: Inverter) -> MakeCase:
    """A case of these texts, embedded by the toy encoder; None for a row without a text."""

    def make(
        texts: Sequence[str | None],
        others: Sequence[str] = (),
        planted: Sequence[Planted] = (),
        **fields: object,
    ) -> Case:
        def rows(some: Sequence[str | None], name: str) -> tuple[Row, ...]:
            vectors = toy_inverter.encode([text or str(number) for number, text in enumerate(some)])
            found = zip(some, vectors, strict=True)
            return tuple(Row(f"{name}{number}", vector, text) for number, (text, vector) in enumerate(found))

        sample = SampledStore(STORE, rows(texts, "row"), rows(others, "other"), tuple(planted), {})
        finding = EncoderFinding(name="toy", verdict="given", sure="as given")
        fits = np.ones(len(texts), dtype=bool)
        chosen = ChosenModel(finding, toy_inverter, toy_inverter, None, None, True, fits)
        return make_case(sample, chosen, AuditConfig(**fields), None)  # type: ignore[arg-type]

    return make


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    """Eighty toy sentences with their vectors, one of them a name."""
    return write_store(tmp_path / "notes.jsonl", toy.sentences(80))
