"""The static encoder, against sentence-transformers reading the same folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from unembed.encoders import Encoder
from unembed.encoders.static import StaticEncoder

TEXTS = ["The cat sat.", "", "日本語 と 🤖", "word " * 2000, "Größe", "a"]


@pytest.mark.parametrize("package", ["fetched", pytest.param("published", marks=pytest.mark.registry)])
def test_vectors_are_those_of_sentence_transformers(request: pytest.FixtureRequest, package: str) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = request.getfixturevalue(package)("potion")
    assert isinstance(encoder, StaticEncoder)
    reference = SentenceTransformer(str(encoder.folder), device="cpu")
    np.testing.assert_allclose(
        encoder.encode(TEXTS), reference.encode(TEXTS, show_progress_bar=False), atol=1e-5
    )


def test_only_empty_texts(fetched: Callable[[str], Encoder]) -> None:
    assert not fetched("potion").encode(["", " "]).any()
