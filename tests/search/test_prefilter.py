"""The surrogate prefilter reads texts together, and keeps the most promising of them."""

from __future__ import annotations

import numpy as np
import pytest

import toy
from unembed.search.error_model import unit
from unembed.search.prefilter import SurrogatePrefilter


def test_each_list_gets_the_vectors_of_its_own_texts() -> None:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    one, two, three = toy.sentences(3)
    found = SurrogatePrefilter(encoder, 3).embed([[one, two], [], [two, three]])
    wanted = [[one, two], [], [two, three]]
    for vectors, texts in zip(found, wanted, strict=True):
        assert len(vectors) == len(texts)
        if texts:
            np.testing.assert_allclose(vectors, unit(encoder.encode(texts)), atol=1e-6)
    assert [vectors.shape for vectors in SurrogatePrefilter(encoder, 3).embed([[], []])] == [
        (0, encoder.info.dimension)
    ] * 2


@pytest.mark.parametrize(("ratio", "kept"), [(1, [0, 1, 2, 3, 4]), (2, [1, 3, 4]), (3, [3, 4]), (9, [4])])
def test_one_in_so_many_is_kept_rounded_up(ratio: int, kept: list[int]) -> None:
    prefilter = SurrogatePrefilter(toy.ToyEncoder(tokenizer=toy.wordpiece()), ratio)
    assert prefilter.keep([4, 3, 1, 0, 2]) == kept
    assert prefilter.keep([]) == []
