"""What every metric keeps to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import toy
from unembed.errors import DataError, UsageError
from unembed.metrics import METRICS, Figure, Metric, Pair, estimate, make_metrics, measure


class WordModel:
    """A causal model in three lines: every word costs its length in nats."""

    name = "words"

    def losses(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        return [(float(len(text)), max(1, len(text.split()))) for text in texts]


@pytest.fixture(params=METRICS)
def metric(request: pytest.FixtureRequest, toy_encoder: toy.ToyEncoder) -> Metric:
    (found,) = make_metrics([request.param], encoder=toy_encoder, causal=WordModel())
    assert found.name == request.param
    return found


def pairs(encoder: toy.ToyEncoder, *, wrong: bool) -> list[Pair]:
    tokenizer = encoder.tokenizer()
    out = []
    for language, texts in toy.LANGUAGES.items():
        for text in texts:
            recovered = text
            if wrong:
                recovered = text.replace("e", "o").replace("の", "と").replace("很", "非")
            out.append(
                Pair(
                    text,
                    recovered,
                    tuple(tokenizer.encode(text).ids),
                    tuple(tokenizer.encode(recovered).ids),
                    encoder.encode([text])[0],
                    language,
                )
            )
    return out


def test_is_a_metric(metric: Metric) -> None:
    assert isinstance(metric, Metric)
    assert metric.label
    assert metric.best in metric.bounds
    assert metric.signature(["en", "zh", "ja"])


def test_the_target_itself_scores_best(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    if not metric.compares:
        pytest.skip("does not look at the target")
    figure = measure(metric, pairs(toy_encoder, wrong=False))
    assert figure.value == pytest.approx(metric.best)
    assert figure.low == pytest.approx(metric.best)


def test_errors_score_worse(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    if not metric.compares:
        pytest.skip("does not look at the target")
    assert measure(metric, pairs(toy_encoder, wrong=True)).value < metric.best


def test_figure_has_bounds_interval_and_n(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    samples = pairs(toy_encoder, wrong=True)
    figure = measure(metric, samples)
    assert figure.n == len(samples)
    assert figure.low is not None
    assert figure.high is not None
    low, high = metric.bounds
    assert low <= figure.low <= figure.value <= figure.high <= high
    assert math.isfinite(figure.value)


def test_same_seed_same_interval(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    samples = pairs(toy_encoder, wrong=True)
    assert measure(metric, samples, seed=3) == measure(metric, samples, seed=3)


def test_statistics_of_parts_are_the_parts_of_statistics(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    samples = pairs(toy_encoder, wrong=True)
    whole = metric.statistics(samples)
    apart = np.concatenate([metric.statistics(samples[:7]), metric.statistics(samples[7:])])
    assert whole.ndim == 2
    np.testing.assert_allclose(apart, whole, atol=1e-6)


def test_no_samples_is_an_error(metric: Metric) -> None:
    with pytest.raises(DataError, match="nothing to measure"):
        measure(metric, [])


def test_one_sample_has_no_interval(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    figure = measure(metric, pairs(toy_encoder, wrong=True)[:1])
    assert (figure.low, figure.high, figure.n) == (None, None, 1)


def test_an_empty_recovered_text_is_no_accident(metric: Metric, toy_encoder: toy.ToyEncoder) -> None:
    vector = toy_encoder.encode(["the cat"])[0]
    figure = measure(metric, [Pair("the cat", "", (1, 2), (), vector, "en")] * 3)
    low, high = metric.bounds
    assert low <= figure.value <= high


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="token_f1") as caught:
        make_metrics(["token-f2"])
    assert "Did you mean 'token_f1'" in str(caught.value)


def test_what_a_metric_needs_is_asked_for() -> None:
    with pytest.raises(UsageError, match="encoder"):
        make_metrics(["cosine"])
    with pytest.raises(UsageError, match="causal"):
        make_metrics(["perplexity"])


def test_interval_of_a_share_is_about_the_normal_one() -> None:
    """400 tosses, 100 heads: 0.25 plus or minus 1.96 * sqrt(0.25 * 0.75 / 400)."""
    (exact,) = make_metrics(["exact_match"])
    figure = estimate(exact, np.array([[1.0]] * 100 + [[0.0]] * 300))
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert figure == Figure(value=0.25, low=figure.low, high=figure.high, n=400)
    assert figure.low == pytest.approx(0.25 - half, abs=0.006)
    assert figure.high == pytest.approx(0.25 + half, abs=0.006)
