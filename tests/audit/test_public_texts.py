"""The floor of who looks up the nearest public sentence: embedded once, and never counted as leaked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_cases import MakeCase, row

import toy
from unembed.audit import public_texts
from unembed.audit.findings import find
from unembed.audit.public_texts import PublicTexts, unit


class Counting(toy.ToyEncoder):
    """Says how many texts it has embedded."""

    asked = 0

    def encode(self, texts: Any) -> Any:
        self.asked += len(texts)
        return super().encode(texts)


def test_they_are_embedded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNEMBED_HOME", str(tmp_path))
    encoder = Counting(tokenizer=toy.wordpiece())
    first = public_texts.public_texts(encoder)
    assert (len(first.texts), encoder.asked) == (40, 40)
    np.testing.assert_allclose(np.linalg.norm(first.vectors, axis=1), 1, atol=1e-3)
    again = public_texts.public_texts(encoder)
    assert encoder.asked == 40
    assert again.texts == first.texts
    np.testing.assert_allclose(again.vectors, first.vectors, atol=1e-3)
    [file] = (tmp_path / "public-texts").iterdir()
    file.write_bytes(b"half a file")
    public_texts.public_texts(encoder)
    assert encoder.asked == 80


def test_a_home_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("UNEMBED_HOME", str(tmp_path / "file"))
    assert len(public_texts.public_texts(toy.ToyEncoder(tokenizer=toy.wordpiece())).texts) == 40


def test_what_anybody_could_look_up_has_not_leaked(make_case_of: MakeCase) -> None:
    texts = toy.sentences(6)
    case = make_case_of(texts)
    rows = [row(number, text) for number, text in enumerate(texts)]
    public = PublicTexts(texts, unit(case.vectors))
    without, with_public = find(case, rows, None), find(case, rows, None, public)
    assert without.measures[0].leaked.value == 1
    exact = with_public.measures[0]
    assert exact.figure.value == 1
    assert exact.leaked.value == 0
    assert exact.floors[-1].label == "Nearest of 6 public sentences"
