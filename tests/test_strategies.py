"""What every strategy keeps to, decoders and guided search alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tiny
import toy
from unembed import Inverter
from unembed.decode.observer import Update
from unembed.decode.result import Inversion
from unembed.errors import UsageError
from unembed.strategies import STRATEGIES, make_strategy

SMALL = {"guided": {"max_encoder_calls": 12, "num_starts": 3, "beam_width": 2, "neighbours": 3}}


@pytest.fixture(scope="module")
def inverter() -> Inverter:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=encoder.encode(toy.sentences(100)))
    model.denoiser.double()  # so that the batch's size does not show in the last bits
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="module")
def vectors(inverter: Inverter) -> np.ndarray:
    return inverter.encode(toy.sentences(6, seed=3))


pytestmark = pytest.mark.parametrize("name", list(STRATEGIES))


def invert(inverter: Inverter, vectors: np.ndarray, name: str, **fields: object) -> list[Inversion]:
    return list(inverter.stream(vectors, strategy=name, options=SMALL.get(name, {}), **fields))


def test_a_text_does_not_depend_on_its_batch(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    together = invert(inverter, vectors, name, seed=2)
    apart = [invert(inverter, vectors[row : row + 1], name, seed=2)[0] for row in range(len(vectors))]
    assert [one.text for one in together] == [one.text for one in apart]
    assert [one.tokens for one in invert(inverter, vectors, name, seed=2, batch_size=2)] == [
        one.tokens for one in together
    ]


def test_a_known_length_is_kept(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    lengths = [3, 4, 5, 3, 4, 5]
    found = invert(inverter, vectors, name, lengths=lengths)
    assert [len(one.tokens) for one in found] == lengths
    assert all(one.length_known for one in found)


def test_alternatives_are_different_texts(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    for one in invert(inverter, vectors, name, n_best=3):
        texts = [one.text, *(other.text for other in one.alternatives)]
        assert 1 <= len(texts) <= 3
        assert len(set(texts)) == len(texts)
        assert one.forward_passes > 0


def test_no_vectors_give_no_texts(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    assert invert(inverter, vectors[:0], name) == []


def test_an_observer_is_told_of_every_vector(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    """Rows count the vectors of the stream, those that cannot be inverted included."""
    spoilt = vectors.copy()
    spoilt[1] = np.nan
    updates: list[Update] = []
    found = invert(inverter, spoilt, name, batch_size=2, bad_vectors="record", observe=updates.extend)
    assert {update.row for update in updates} == {0, 2, 3, 4, 5}
    for row in (0, 2, 5):
        assert found[row].tokens in [update.tokens for update in updates if update.row == row]
    assert all((update.search is not None) == STRATEGIES[name].needs_encoder for update in updates)


def test_an_observer_can_give_vectors_up(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    def only_the_first(updates: Sequence[Update]) -> list[bool]:
        return [update.row == 0 for update in updates]

    found = invert(inverter, vectors, name, observe=only_the_first)
    whole = invert(inverter, vectors, name)
    assert len(found) == len(vectors)
    assert found[0] == whole[0]
    assert sum(one.forward_passes for one in found) < sum(one.forward_passes for one in whole)


def test_its_options_are_described_and_checked(inverter: Inverter, vectors: np.ndarray, name: str) -> None:
    entry = STRATEGIES[name]
    assert entry.summary
    defaults = {option: schema["default"] for option, schema in entry.schema.items()}
    assert make_strategy(name, defaults) == make_strategy(name)
    assert (
        make_strategy(name, {option: str(value) for option, value in defaults.items() if value}) is not None
    )
    with pytest.raises(UsageError, match=f"The strategy '{name}' has no option 'nonsense'"):
        make_strategy(name, {"nonsense": 1})
