"""Every text metric on cases that were computed by hand, Chinese and Japanese among them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unembed.metrics import Bleu, Chrf, ExactMatch, Pair, RougeL, TokenAccuracy, measure
from unembed.metrics.accuracy import token_hits
from unembed.metrics.bleu import bleu_tokenizer
from unembed.metrics.cosine import cosines
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import TokenF1, token_f1
from unembed.metrics.figure import estimate, estimate_mean
from unembed.metrics.rouge import WordTokenizer


@pytest.mark.parametrize(
    ("target", "recovered", "hits"),
    [
        ([1, 2, 3], [1, 2, 3], (3, 3)),
        ([1, 2, 3], [1, 9, 3], (2, 3)),
        ([1, 2, 3], [1, 2], (2, 3)),  # what is missing is wrong
        ([1, 2], [1, 2, 3, 4], (2, 4)),  # and so is what is too much
        ([1, 2, 3], [2, 3], (0, 3)),  # everything is in the wrong place
        ([1], [], (0, 1)),
        ([], [], (0, 0)),
    ],
)
def test_token_hits(target: list[int], recovered: list[int], hits: tuple[int, int]) -> None:
    assert token_hits(target, recovered) == hits
    assert token_hits(recovered, target) == hits


def test_token_accuracy_pools_positions() -> None:
    samples = [Pair("", "", (1, 2, 3, 4), (1, 2, 3, 4)), Pair("", "", (5, 6), (5, 9))]
    assert measure(TokenAccuracy(), samples).value == pytest.approx(5 / 6)  # not (1 + 1/2) / 2


@pytest.mark.parametrize(
    ("target", "recovered", "score"),
    [
        ([1, 2, 3], [3, 2, 1], 1.0),  # the order does not matter
        ([1, 1, 2], [1, 2], 2 * 2 / 5),  # a token that occurs twice must come twice
        ([1, 2], [1, 1, 1], 2 * 1 / 5),
        ([1, 2], [3, 4], 0.0),
        ([1], [], 0.0),
        ([], [], 1.0),
    ],
)
def test_token_f1(target: list[int], recovered: list[int], score: float) -> None:
    assert token_f1(target, recovered) == pytest.approx(score)


@pytest.mark.parametrize(
    ("target", "recovered", "same"),
    [
        ("The cat sat.", "the cat  sat", True),
        ("我希望能见到你。", "我希望能见到你", True),
        ("我希望能见到你。", "我希望能看到你。", False),
        ("ﾊﾟﾋﾟﾌﾟ。", "パピプ", True),  # half-width katakana are the same letters
        ("明日は雨が降るでしょう。", "明日は雪が降るでしょう。", False),
        ("C#", "C", False),
    ],
)
def test_exact_match(target: str, recovered: str, same: bool) -> None:
    assert exact_match(target, recovered) is same
    assert measure(ExactMatch(), [Pair(target, recovered)]).value == float(same)


def test_bleu_by_hand() -> None:
    """'the cat sat on the mat' with the last word wrong: 5/6, 4/5, 3/4 and 2/3 of the n-grams."""
    pair = Pair("the cat sat on the mat", "the cat sat on the rug", language="en")
    by_hand = 100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** (1 / 4)
    assert measure(Bleu(), [pair]).value == pytest.approx(by_hand)
    # The brevity penalty: the same first five words, nothing wrong, one missing.
    short = Pair("the cat sat on the mat", "the cat sat on the", language="en")
    assert measure(Bleu(), [short]).value == pytest.approx(100 * math.exp(1 - 6 / 5))


def test_bleu_is_the_corpus_score_of_sacrebleu() -> None:
    import sacrebleu

    targets = ["the cat sat on the mat .", "it rains again today , they say .", "who is there ?"]
    recovered = ["the cat sat on a mat .", "it rains today , they say .", "who was here ?"]
    ours = measure(Bleu(), [Pair(a, b, language="en") for a, b in zip(targets, recovered, strict=True)])
    assert ours.value == pytest.approx(sacrebleu.corpus_bleu(recovered, [targets]).score)


def test_bleu_of_chinese_is_by_character() -> None:
    """Eight characters and a full stop; the sixth differs: 8/9, 6/8, 4/7 and 2/6 of the n-grams."""
    pair = Pair("我很希望能见到你。", "我很希望能看到你。", language="zh")
    by_hand = 100 * (8 / 9 * 6 / 8 * 4 / 7 * 2 / 6) ** (1 / 4)
    assert measure(Bleu(), [pair]).value == pytest.approx(by_hand)
    # As one undivided word it would be all or nothing.
    assert measure(Bleu(), [Pair(pair.target, pair.recovered, language="en")]).value == 0.0


def test_bleu_of_japanese_is_not_all_or_nothing() -> None:
    pair = Pair("明日は雨が降るでしょう。", "明日は雪が降るでしょう。", language="ja")
    assert 20 < measure(Bleu(), [pair]).value < 90


def test_bleu_signature_names_every_tokenizer() -> None:
    signature = Bleu().signature(["en", "de", "zh"])
    assert "tok:13a" in signature
    assert "tok:zh" in signature
    assert "version:" in signature
    assert bleu_tokenizer("ja") in ("ja-mecab", "char")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat doesn't sit.", ["the", "cat", "doesn", "t", "sit"]),
        ("Füße, Größe: 10%", ["füsse", "grösse", "10"]),
        ("我喜欢GPT2模型。", ["我", "喜", "欢", "gpt2", "模", "型"]),
        ("ガギグ、ﾊﾟﾋﾟ", ["ガ", "ギ", "グ", "パ", "ピ"]),
        ("나는 학교에", ["나는", "학교에"]),
        ("السَّلَامُ عَلَيْكُمْ", ["السَّلَامُ", "عَلَيْكُمْ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("... !", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    import unicodedata

    assert WordTokenizer().tokenize(text) == [unicodedata.normalize("NFKC", word) for word in words]


@pytest.mark.parametrize(
    ("target", "recovered", "score"),
    [
        ("the cat sat on the mat", "the cat lay on a mat", 4 / 6),
        ("the cat sat", "sat cat the", 1 / 3),
        ("我希望能见到你。", "我希望能看到你", 6 / 7),
        ("明日は雨が降る", "雨が降る", 2 * 4 / (7 + 4)),
        ("明日は雨が降る", "the cat", 0.0),
        ("...", "...", 1.0),
        ("...", "!", 0.0),
    ],
)
def test_rouge_l(target: str, recovered: str, score: float) -> None:
    assert measure(RougeL(), [Pair(target, recovered)]).value == pytest.approx(score)


def test_cosines() -> None:
    a = np.array([[1, 0], [1, 0], [3, 4], [0, 0]], dtype=np.float32)
    b = np.array([[2, 0], [0, 5], [4, 3], [1, 1]], dtype=np.float32)
    np.testing.assert_allclose(cosines(a, b), [1.0, 0.0, 24 / 25, 0.0])


def test_a_mean_over_groups_counts_each_alike_and_resamples_within_them():
    metric = TokenF1()
    sure, shaky = np.array([[1.0]] * 50), np.array([[0.0], [1.0]] * 5)
    found = estimate_mean(metric, [sure, shaky], seed=3)
    assert found.value == pytest.approx(0.75)  # not 55 of 60
    assert found.n == 60
    alone = estimate(metric, shaky, seed=3)
    assert found.high - found.low == pytest.approx((alone.high - alone.low) / 2, abs=0.06)
    assert estimate_mean(metric, [sure, shaky[:1]]).low is None


def test_chrf_counts_characters() -> None:
    """One character of four is wrong: of n-grams of 1, 2, 3 and 4 characters 3/4, 2/3, 1/2 and 0 agree."""
    shares = [3 / 4, 2 / 3, 1 / 2, 0]  # precision and recall are the same, so is their F
    assert measure(Chrf(), [Pair("今天很好", "今天很忙")]).value == pytest.approx(sum(shares) / 4)
    assert measure(Chrf(), [Pair("", "")]).value == 1.0
