"""What must hold whatever else does, on the bundled model and encoder.

A rotation leaves retrieval as it was and falls to enough pairs; zero noise is no defence; endless noise is a
perfect one, at chance retrieval.
"""

from __future__ import annotations

import numpy as np
import pytest

from unembed.adaptation.default_texts import default_texts
from unembed.evaluation.samples import Samples
from unembed.inverter import Inverter
from unembed.metrics.f1 import token_f1
from unembed.text import tokenise
from unembed.trials.attackers_bench import AttackersBench
from unembed.trials.defended_store import Collection, DefendedStore, Known
from unembed.trials.settings_of_defences import all_settings
from unembed.trials.trial_attackers import Aware, TrialAttacker, Unaware, WithPairs
from unembed.trials.utility import store_neighbours

TARGETS, PAIRS = 6, 600


@pytest.fixture(scope="module")
def bench(bundled: Inverter) -> AttackersBench:
    def fits(texts: object) -> list[bool]:
        found = tokenise(bundled.checkpoint.tokenizer, list(texts))  # type: ignore[call-overload]
        return [6 <= len(ids) <= 10 for ids in found]

    texts = default_texts(TARGETS + PAIRS, fits)
    vectors = bundled.encode(texts)
    targets = Samples(
        np.arange(TARGETS),
        texts[:TARGETS],
        tokenise(bundled.checkpoint.tokenizer, texts[:TARGETS]),
        vectors[:TARGETS],
        ["en"] * TARGETS,
    )
    others = Known(texts[TARGETS:], vectors[TARGETS:])
    return AttackersBench(bundled, Collection(targets, others, others))


def store(bench: AttackersBench, setting: str) -> DefendedStore:
    return DefendedStore(bench.collection, all_settings([setting])[-1], seed=0)


def leak(bench: AttackersBench, attacker: TrialAttacker, setting: str) -> float:
    """Mean token F1 of what he reads."""
    defended = store(bench, setting)
    reader = attacker.reader(defended, bench)
    found = reader.inverter.invert(
        reader.prepare(defended.targets), quality="fast", num_lengths=1, check=False
    )
    tokens = bench.collection.targets.tokens
    return float(np.mean([token_f1(ids, one.tokens) for ids, one in zip(tokens, found, strict=True)]))


@pytest.fixture(scope="module")
def undefended(bench: AttackersBench) -> float:
    return leak(bench, Unaware(), "none")


def test_a_rotation_keeps_retrieval_and_falls_to_enough_pairs(
    bench: AttackersBench, undefended: float
) -> None:
    assert store_neighbours(store(bench, "rotation")) == [1.0] * (TARGETS + PAIRS)
    assert undefended > 0.7
    assert leak(bench, Unaware(), "rotation") < 0.4
    assert leak(bench, WithPairs(PAIRS), "rotation") > undefended - 0.15


def test_zero_noise_is_no_defence(bench: AttackersBench, undefended: float) -> None:
    quiet = store(bench, "gaussian:sigma=0")
    assert np.array_equal(quiet.targets, bench.collection.targets.vectors)
    assert store_neighbours(quiet) == [1.0] * (TARGETS + PAIRS)
    assert leak(bench, Unaware(), "gaussian:sigma=0") == undefended


def test_endless_noise_is_a_perfect_defence_at_chance_retrieval(bench: AttackersBench) -> None:
    loud = "gaussian:sigma=1000000"
    assert np.mean(store_neighbours(store(bench, loud))) == pytest.approx(10 / (TARGETS + PAIRS), abs=0.02)
    assert leak(bench, Aware(), loud) < 0.4


def test_a_secret_scale_and_order_fall_to_pairs_whatever_length_vectors_are_given(
    bench: AttackersBench, undefended: float
) -> None:
    """An attacker's own draw has another scale: what he fitted on it must not be read at the store's."""
    assert leak(bench, WithPairs(PAIRS), "cloaked:approximation=1") > undefended / 2
