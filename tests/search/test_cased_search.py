"""A search with an encoder that tells capitals and spaces apart finds how the text was written, and ends."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from counting import CountingEncoder

import tiny
import toy
from unembed import Inverter
from unembed.cli.forms_note import forms_note
from unembed.encoders.written_differences import ASKED, written_differences
from unembed.search.form_variants import FORM
from unembed.search.guided_search import GuidedSearch
from unembed.search.guided_strategy import make_writer
from unembed.search.settings import GuidedSettings
from unembed.text import tokenise

TEXT = "The cat sees the dog outside."


class CasedEncoder(CountingEncoder):
    """A bag of words and of pairs, as written: another capital or another space is another vector."""

    def __init__(self) -> None:
        super().__init__(dimension=64, name="cased", tokenizer=toy.byte_bpe())

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        self.texts += texts
        vectors = np.zeros((len(texts), self.info.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            words = text.split()
            for part in [*words, *(" ".join(pair) for pair in pairwise(words))]:
                random = np.random.default_rng(zlib.crc32(part.encode()))
                vectors[row] += random.normal(size=vectors.shape[1])
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


@pytest.fixture
def cased() -> CasedEncoder:
    return CasedEncoder()


@pytest.fixture
def inverter(cased: CasedEncoder) -> Inverter:
    """A model that knows nothing, and writes lower case."""
    fit = cased.encode(toy.sentences(200))
    model = tiny.checkpoint(toy.wordpiece(), cased.info, fit_to=fit)
    written_differences(cased)
    cased.texts.clear()
    return Inverter(model, encoder=cased)


def search_from(inverter: Inverter, cased: CasedEncoder, start: str, target: str, calls: int = 150):
    """The state of a search that begins with one text: its words are right."""
    checkpoint = inverter.checkpoint
    ids = np.array(tokenise(checkpoint.tokenizer, [start])[0])
    search = GuidedSearch(
        checkpoint,
        cased,
        GuidedSettings(max_encoder_calls=calls, beam_width=2, proposals=1, neighbours=0),
        writer=make_writer(checkpoint, cased),
    )
    vector = cased.encode([target])
    cased.texts.clear()
    [state] = search.run(vector, [[tuple(checkpoint.vocabulary.encode(ids).tolist())]])
    return state


@pytest.mark.parametrize(
    ("start", "target"),
    [
        ("the cat sat on the mat.", "The cat sat on the mat."),
        ("the cat sat on the mat.", "the cat sat on the mat."),
        ("the cat sat on the mat.", "THE CAT SAT ON THE MAT."),
        ("the cat sat on the mat.", "The Cat Sat On The Mat."),
        ("the cat sat on the mat.", "The cat sat on the Mat!"),
        ("the cat sat on the mat.", "The CAT sat on the mat"),
        ("it doesn't matter, does it?", "It doesn't matter , does it."),
    ],
)
def test_it_finds_how_a_text_is_written_and_ends(
    inverter: Inverter, cased: CasedEncoder, start: str, target: str
) -> None:
    state = search_from(inverter, cased, start, target)
    assert state.best.text == target
    assert state.found
    assert state.calls == len(cased.texts) < 150
    assert len(set(cased.texts)) == len(cased.texts)


def test_without_forms_it_never_ends(inverter: Inverter, cased: CasedEncoder) -> None:
    vector = cased.encode([TEXT.upper()])[0]
    cased.texts.clear()
    result = inverter.invert(vector, strategy="guided", max_encoder_calls=30, forms=0, check=False)
    assert result.encoder_calls == 30
    assert all(text == text.lower() for text in cased.texts)


def test_edits_are_written_as_their_parents(inverter: Inverter, cased: CasedEncoder) -> None:
    """A whole text in capitals: once that is found, nothing is written otherwise but other forms."""
    state = search_from(inverter, cased, "the cat sat on the mat.", "THE DOG SEES THE LAMP TODAY", calls=120)
    upper = next(one for one in state.history if one.text.isupper())
    later = [one for one in state.tried.values() if one.call > upper.call + 30 and one.made_by != FORM]
    assert later
    assert sum(one.text.isupper() for one in later) > len(later) / 2


def test_the_budget_is_kept_and_a_smaller_one_is_the_beginning(
    inverter: Inverter, cased: CasedEncoder
) -> None:
    vectors = cased.encode(toy.sentences(2, seed=9))
    stories = []
    for calls in (40, 15):
        cased.texts.clear()
        found = inverter.invert(vectors, strategy="guided", max_encoder_calls=calls, target_cosine=2.0)
        assert [one.encoder_calls for one in found] == [calls] * 2
        assert len(cased.texts) == 2 * calls
        stories.append([[(step.calls, step.text) for step in one.advances] for one in found])
    long, short = stories
    assert short == [[step for step in one if step[0] <= 15] for one in long]


def test_who_is_asked(inverter: Inverter, cased: CasedEncoder, encoder: CountingEncoder) -> None:
    """An encoder that folds case costs no call; a model that writes case itself needs no forms."""
    assert make_writer(inverter.checkpoint, cased) is not None
    assert written_differences(cased).calls == ASKED
    assert make_writer(inverter.checkpoint, encoder) is None
    assert encoder.texts == []
    own = tiny.checkpoint(toy.byte_bpe(), cased.info)
    assert make_writer(own, cased) is None


def test_a_line_says_what_it_cost_to_find_out(
    inverter: Inverter, cased: CasedEncoder, encoder: CountingEncoder
) -> None:
    note = forms_note(inverter.checkpoint, cased)
    assert note == "cased tells capitals and spaces apart (6 texts asked): the search restores them."
    assert forms_note(inverter.checkpoint, encoder) is None
