"""What every encoder promises, checked on every encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from tokenizers import Tokenizer

from unembed.encoders import Encoder, EncoderInfo, load_encoder
from unembed.errors import UnembedError, UsageError
from unembed.inverter import BUNDLED

TEXTS = [
    "The cat sat on the mat.",
    "",
    "a",
    " \t\n ",
    "Vögel zwitschern; Müßiggang.",
    "Быстрая бурая лиса.",
    "素早い茶色の狐が、のろまな犬を飛び越える。",
    "敏捷的棕色狐狸跳过懒狗。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다.",
    "الثعلب البني السريع.",
    "👩‍👩‍👧 family, é, ｆｕｌｌｗｉｄｔｈ, \u200bzero\u200bwidth, \x00 null",
    "word " * 600,
    "The cat sat on the mat.",
]
LONG = 11
FETCHED = ("use-multilingual", "potion", "multilingual-e5-small")
PUBLISHED = {f"published {name}": name for name in (*FETCHED, "mpnet", "gte-small", "e5-small")}
CASES = (
    *("minilm", *FETCHED, *tiny_models.BUILDERS, "endpoint", "surrogate"),
    *(pytest.param(case, marks=pytest.mark.registry) for case in PUBLISHED),
)


@pytest.fixture(params=CASES)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    name = request.param
    if name == "minilm":
        return request.getfixturevalue("minilm")
    if name in FETCHED:
        return request.getfixturevalue("fetched")(name)
    if name in PUBLISHED:
        return request.getfixturevalue("published")(PUBLISHED[name])
    if name == "endpoint":
        request.getfixturevalue("endpoint")
        return load_encoder("openai:toy")
    if name == "surrogate":
        return load_encoder(str(BUNDLED / "surrogate"), device="cpu")
    tiny_model: Callable[[str], Path] = request.getfixturevalue("tiny_model")
    return load_encoder(str(tiny_model(name)), device="cpu")


def test_contract(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder.info, EncoderInfo)
    assert len(encoder.info.digest) == 64
    vectors = encoder.encode(TEXTS)

    # shape and type
    assert vectors.shape == (len(TEXTS), encoder.info.dimension)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    nothing = encoder.encode([])
    assert nothing.shape == (0, encoder.info.dimension)
    assert nothing.dtype == np.float32

    # unit norm where promised (a static model has nothing to scale in a text without tokens)
    if encoder.info.normalised:
        norms = np.linalg.norm(vectors, axis=1)
        zero = [not text.strip() and encoder.info.pooling == "static" for text in TEXTS]
        np.testing.assert_allclose(norms, np.where(zero, 0, 1), atol=1e-5)

    # neither the batch size nor the neighbours matter
    for batch_tokens in (1, 64, 100_000):
        np.testing.assert_allclose(encoder.encode(TEXTS, batch_tokens=batch_tokens), vectors, atol=1e-5)
    for row in (1, 6):
        np.testing.assert_allclose(encoder.encode([TEXTS[row]])[0], vectors[row], atol=1e-5)

    # order
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1]), vectors[::-1], atol=1e-5)
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-6)
    assert np.abs(vectors[0] - vectors[4]).max() > 1e-3


def test_a_very_long_text_is_cut_at_the_limit(encoder: Encoder) -> None:
    if encoder.info.max_tokens is None:
        pytest.skip("has no limit")
    longer = TEXTS[LONG] + "and an end that the encoder never sees"
    np.testing.assert_allclose(encoder.encode([TEXTS[LONG]]), encoder.encode([longer]), atol=1e-5)


def test_half_a_surrogate_pair_is_replaced(encoder: Encoder) -> None:
    np.testing.assert_allclose(
        encoder.encode(["broken \ud83d escape"]), encoder.encode(["broken \ufffd escape"]), atol=1e-6
    )


def test_tokenizer_is_the_encoders_own_and_never_cuts(encoder: Encoder) -> None:
    if encoder.info.name.startswith("openai:"):
        with pytest.raises(UnembedError, match="endpoint"):
            encoder.tokenizer()
        return
    tokenizer = encoder.tokenizer()
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.truncation is None
    assert tokenizer.padding is None
    assert len(tokenizer.encode(TEXTS[LONG]).ids) >= 600
    one, two = tokenizer.encode_batch(["the cat", "the cat sat on the mat"])
    assert len(one.ids) < len(two.ids)
    assert tokenizer.decode(tokenizer.encode("the cat sat").ids).strip() == "the cat sat"
    # whoever gets it may change it: the encoder's own does not follow
    before = encoder.encode(["the cat sat on the mat"])
    tokenizer.enable_truncation(3)
    np.testing.assert_array_equal(encoder.encode(["the cat sat on the mat"]), before)


@pytest.mark.parametrize("texts", ["one text", [1], [None], [b"bytes"]])
def test_what_is_not_a_list_of_texts_is_refused(encoder: Encoder, texts: list[str]) -> None:
    with pytest.raises(UsageError):
        encoder.encode(texts)


def test_batch_tokens_below_one_is_refused(encoder: Encoder) -> None:
    if encoder.info.pooling == "static":
        pytest.skip("has no batches")
    with pytest.raises(UsageError, match="batch_tokens"):
        encoder.encode(["x"], batch_tokens=0)
