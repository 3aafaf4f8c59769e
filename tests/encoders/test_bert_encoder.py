"""A prefix before every text; and the published small BERTs against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from unembed.encoders import load_encoder, locations
from unembed.encoders.bert_encoder import BertEncoder
from unembed.errors import UsageError

TEXTS = ["Hello there.", "What is the capital of France?", "A longer sentence, with 12 numbers and Maria!"]


def test_a_prefix_is_read_and_no_part_of_the_text(minilm):
    prefixed = BertEncoder(minilm.bert, minilm.tokenizer(), minilm.info, "cpu", "query: ")
    plain = minilm.encode([f"query: {text}" for text in TEXTS])
    assert np.allclose(prefixed.encode(TEXTS), plain, atol=1e-6)
    assert not np.allclose(prefixed.encode(TEXTS), minilm.encode(TEXTS), atol=1e-2)
    own = prefixed.tokenizer().encode(TEXTS[1], add_special_tokens=False).ids
    [found] = prefixed.token_gradients([TEXTS[1]], plain[:1])
    assert found.ids.tolist() == own
    assert found.gradient.shape == (len(own), 384)


def test_prompts_are_for_encoders_that_have_some():
    with pytest.raises(UsageError, match="no prompts to choose from"):
        load_encoder("gte-small#query")


@pytest.mark.registry
@pytest.mark.parametrize(
    ("name", "prefix"), [("gte-small", ""), ("e5-small", "passage: "), ("e5-small#query", "query: ")]
)
def test_vectors_are_those_of_the_published_graph(published, name, prefix):
    runtime = pytest.importorskip("onnxruntime")
    base = name.partition("#")[0]
    published(base)
    encoder = load_encoder(name)
    session = runtime.InferenceSession(str(locations.encoder_folder(base) / "model.onnx"))
    wanted = {one.name for one in session.get_inputs()}
    for text, vector in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        ids = np.array([encoder.tokenizer().encode(prefix + text).ids])
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [hidden] = session.run(["last_hidden_state"], {k: v for k, v in feed.items() if k in wanted})
        mean = hidden[0].mean(axis=0)
        assert np.abs(mean / np.linalg.norm(mean) - vector).max() < 1e-5
