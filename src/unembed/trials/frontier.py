"""Which settings are worth having, and what to recommend: derived from measured points and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unembed.metrics.figure import Figure

LOSSES = (0.0, 0.01, 0.05, 0.10, 0.25)  # shares of retrieval that an owner may be willing to lose


@dataclass(frozen=True)
class Point:
    """One setting: what its best attacker still reads, and what is left of retrieval."""

    setting: str
    title: str
    leakage: Figure  # token F1 of the best attacker
    exact: Figure  # his exact match
    attacker: str
    kept: Figure  # share of the undefended retrieval
    secret: str | None = None
    missing: tuple[str, ...] = ()  # attackers who have not attacked it yet: the best one may be among them


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: none keeps as much and leaks less, or leaks as little and keeps more.

    From the most retrieval to the least leakage.
    """
    out = []
    for one in points:
        beaten = any(
            other.kept.value >= one.kept.value
            and other.leakage.value <= one.leakage.value
            and (other.kept.value > one.kept.value or other.leakage.value < one.leakage.value)
            for other in points
        )
        if not beaten:
            out.append(one)
    return sorted(out, key=lambda one: (-one.kept.value, one.leakage.value))


def helps(one: Point, undefended: Point) -> bool:
    """Whether it leaks less than no defence at all, beyond chance: the two intervals do not touch."""
    high, low = one.leakage.high, undefended.leakage.low
    return high is not None and low is not None and high < low


def recommend(points: Sequence[Point], undefended: Point, floor: Figure | None) -> list[str]:
    """For each loss that an owner may accept, what leaks least within it; in words, with their figures."""

    def best_within(loss: float) -> Point | None:
        within = [one for one in points if one.kept.value >= 1 - loss - 1e-9 and helps(one, undefended)]
        return min(within, key=lambda one: one.leakage.value, default=None)

    best = [best_within(loss) for loss in LOSSES]
    out: list[str] = []
    if best[0] is None:
        in_vain = sum(one is None for one in best)  # a larger loss allows whatever a smaller one does
        if in_vain == len(LOSSES):
            kept = f"keeps {1 - LOSSES[-1]:.0%}"
        else:
            kept = f"loses at most {LOSSES[in_vain - 1]:.0%}" if in_vain > 1 else "loses nothing"
        out.append(
            f"Nothing that was measured leaks less than no defence, beyond chance, and {kept} of retrieval. "
            f"Without a defence: {_leak(undefended)}."
        )
    before: Point | None = None
    for loss, one in zip(LOSSES, best, strict=True):
        if one is not None and one is not before:
            allowed = "Nothing of retrieval lost" if not loss else f"At most {loss:.0%} of retrieval lost"
            out.append(f"{allowed}: {one.setting}. {_leak(one)}; without it {_leak(undefended, short=True)}.")
        before = one
    if floor is not None:
        out.append(f"Token F1 {floor.value:.1%} would come back from another text's vector.")
    return out


def _leak(one: Point, *, short: bool = False) -> str:
    f1 = f"token F1 {one.leakage.value:.1%}{_range(one.leakage)}, exact {one.exact.value:.1%}"
    if short:
        return f1
    return (
        f"{f1} by the best attacker ({one.attacker}, n = {one.leakage.n}); "
        f"{one.kept.value:.1%}{_range(one.kept)} of retrieval kept"
    )


def _range(figure: Figure) -> str:
    return "" if figure.low is None else f" [{figure.low:.1%}, {figure.high:.1%}]"
