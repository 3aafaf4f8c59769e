"""The bundled model gives the texts and scores that it gave before: see cases.py."""

from __future__ import annotations

import json

import pytest

from unchanged.cases import CASES, HERE, results

EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_texts_and_scores_are_what_they_were(bundled, name):
    for now, then in zip(results(bundled, name), EXPECTED[name], strict=True):
        assert now["text"] == then["text"]
        assert now["tokens"] == then["tokens"]
        # Other processors round otherwise, in the last digits.
        assert now["score"] == pytest.approx(then["score"], abs=1e-3)
        assert now["cosine"] == pytest.approx(then["cosine"], abs=1e-5)
        assert now["forward_passes"] == then["forward_passes"]
        assert now["encoder_calls"] == then["encoder_calls"]
        assert [text for text, _ in now["alternatives"]] == [text for text, _ in then["alternatives"]]
        for (_, score), (_, before) in zip(now["alternatives"], then["alternatives"], strict=True):
            assert score == pytest.approx(before, abs=1e-3)
