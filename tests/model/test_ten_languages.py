"""The model of ten languages that lies in the repository, on held-out texts' vectors of the real encoder."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unembed import Inversion, Inverter
from unembed.metrics.f1 import token_f1
from unembed.model.checkpoint import Checkpoint
from unembed.text import tokenise

MODEL = Path(__file__).parents[2] / "models" / "use-ten"
CASES = json.loads((Path(__file__).parent / "ten_languages.json").read_text(encoding="utf-8"))
LANGUAGES = ("en", "de", "fr", "es", "pt", "ru", "ja", "zh", "ko", "ar")
MOST_BYTES = 80_000_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def inverter() -> Inverter:
    return Inverter(Checkpoint.from_pretrained(MODEL))


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:  # [40, 512]
    stored = [np.frombuffer(base64.b64decode(case["vector"]), "<f2") for case in CASES]
    return np.array(stored, np.float32)


def scores(inverter: Inverter, vectors: NDArray[np.float32]) -> list[float]:
    """Token F1 of each case."""
    found = [result.text for result in inverter.invert(vectors, check=False)]
    wanted, read = (
        tokenise(inverter.checkpoint.tokenizer, texts) for texts in ([case["text"] for case in CASES], found)
    )
    return [token_f1(target, recovered) for target, recovered in zip(wanted, read, strict=True)]


def test_every_language_comes_back_in_part(inverter: Inverter, vectors: NDArray[np.float32]) -> None:
    own = scores(inverter, vectors)
    others = scores(inverter, np.roll(vectors, 4, axis=0))  # the vectors of another language's texts
    by_language = {
        language: float(
            np.mean([score for case, score in zip(CASES, own, strict=True) if case["language"] == language])
        )
        for language in LANGUAGES
    }
    assert min(by_language.values()) > 0.15, by_language
    assert np.mean(own) > 0.4
    assert np.mean(others) < 0.15


def test_it_refines_what_it_writes(inverter: Inverter, vectors: NDArray[np.float32]) -> None:
    """It brings a surrogate and phrases: what is refined lies nearer, by the surrogate."""
    refined, plain = inverter.invert(vectors, check=False), inverter.invert(vectors, check=False, refine=0)

    def nearness(found: list[Inversion]) -> float:
        said = inverter.surrogate.encode([one.text for one in found])
        return float((said * vectors).sum(axis=1).mean())

    assert nearness(refined) > nearness(plain)
    assert sum(one.text != other.text for one, other in zip(refined, plain, strict=True)) > len(CASES) / 4


def test_every_language_can_be_written(inverter: Inverter) -> None:
    """Tokens and text agree, and the vocabulary has every token."""
    known = set(inverter.checkpoint.vocabulary.token_ids.tolist())
    for case in CASES:
        [ids] = tokenise(inverter.checkpoint.tokenizer, [case["text"]])
        assert inverter.checkpoint.tokenizer.decode(ids).strip() == case["text"]
        assert set(ids) <= known, case["text"]


def test_it_is_small_enough_for_a_repository() -> None:
    assert sum(file.stat().st_size for file in MODEL.rglob("*")) < MOST_BYTES
