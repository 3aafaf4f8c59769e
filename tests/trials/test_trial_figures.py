"""Who is the best attacker: compared on the texts that all of them attacked."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.evaluation.rows import Row
from unembed.metrics.registry import make_metrics
from unembed.trials.trial_attackers import Unaware, WithEncoder
from unembed.trials.trial_figures import F1, TrialFigures
from unembed.trials.trial_rows import variant


def rows(attacker: str, f1: Sequence[float], samples: Sequence[int]) -> list[Row]:
    return [
        Row(
            variant=variant("none", attacker),
            sample=sample,
            language="en",
            length=3,
            target="",
            recovered="",
            tokens=[],
            statistics={F1: [value]},
        )
        for sample, value in zip(samples, f1, strict=True)
    ]


def figures(*given: list[Row]) -> TrialFigures:
    attackers = [Unaware(), WithEncoder(None, 2)]
    return TrialFigures([row for some in given for row in some], [], attackers, make_metrics((F1,)))


def test_who_searches_is_compared_on_the_texts_that_he_searched() -> None:
    plain = rows("unaware", [0.1, 0.2, 0.9, 1.0], range(4))
    # Two easy texts: 0.85 of these is more than 0.55 of all, and less than the other one reads of the two.
    [first, second] = figures(plain, rows("encoder", [0.8, 0.9], [2, 3])).ranked("none")
    assert [first[0].name, second[0].name] == ["unaware", "encoder"]
    assert (first[1][F1].n, second[1][F1].n) == (4, 2)  # each shows all of his own texts
    # Two hard ones: less than 0.55, and more than the other one reads of the two.
    [first, second] = figures(plain, rows("encoder", [0.4, 0.5], [0, 1])).ranked("none")
    assert [first[0].name, second[0].name] == ["encoder", "unaware"]


def test_who_has_attacked_nothing_is_not_ranked() -> None:
    found = figures(rows("unaware", [0.1, 0.3], range(2)))
    assert [one.name for one, _ in found.ranked("none")] == ["unaware"]
    assert found.ranked("rotation") == []
    assert found.ranked("none", ["encoder"]) == []
