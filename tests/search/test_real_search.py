"""The bundled model and the real bundled encoder: a search finds what the model alone does not."""

from __future__ import annotations

import numpy as np
import pytest

from unembed import Inverter
from unembed.metrics.cosine import cosines

SENTENCES = [
    "Tom wants to buy a new car.",
    "The train leaves at seven in the morning.",
    "Can you send me the password for the staging server?",
]


@pytest.mark.slow
def test_a_search_comes_nearer_to_real_sentences(bundled: Inverter) -> None:
    vectors = bundled.encode(SENTENCES)
    plain = bundled.invert(vectors)
    found = bundled.invert(vectors, strategy="guided", max_encoder_calls=150)
    before = cosines(vectors, bundled.encode([one.text for one in plain]))
    after = cosines(vectors, bundled.encode([one.text for one in found]))
    assert np.allclose(after, [one.cosine for one in found], atol=1e-4)
    assert (after >= before - 1e-5).all()
    assert after.mean() > before.mean()
    assert after.max() > 0.99
    assert all(one.encoder_calls <= 150 for one in found)
