"""From the rows of a trial to its figures: who reads how much, who reads most, what is left of retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from unembed.evaluation.rows import Row
from unembed.metrics.base import Metric, column
from unembed.metrics.figure import Figure, estimate, estimate_mean
from unembed.retrieval.sts_pairs import spearman_figure
from unembed.trials.frontier import Point
from unembed.trials.settings_of_defences import NONE
from unembed.trials.trial_attackers import TrialAttacker
from unembed.trials.trial_rows import FLOOR, SettingRow, variant
from unembed.trials.utility import NDCG, NEIGHBOURS, STS, Kept, Share

F1, EXACT = "token_f1", "exact_match"
_STS_RESAMPLES = 300  # a rank correlation is slow to resample


class TrialFigures:
    """All figures of a trial; each is computed once."""

    def __init__(
        self,
        rows: Iterable[Row],
        settings: Sequence[SettingRow],
        attackers: Sequence[TrialAttacker],
        metrics: Sequence[Metric],
        *,
        sts_scores: Sequence[float] = (),
        seed: int = 0,
    ) -> None:
        self.settings, self.attackers, self.metrics = settings, attackers, metrics
        self._sts, self._seed = np.array(sts_scores, dtype=np.float64), seed
        self._rows: dict[str, list[Row]] = {}
        for row in rows:
            self._rows.setdefault(row.variant, []).append(row)
        for group in self._rows.values():
            group.sort(key=lambda row: row.sample)
        self._leaks: dict[str, dict[str, Figure]] = {}

    def leak(self, setting: str, attacker: str) -> dict[str, Figure]:
        """Every metric of what an attacker read; empty where he read nothing."""
        name = variant(setting, attacker)
        if name not in self._leaks:
            rows = self._rows.get(name, [])
            self._leaks[name] = {
                metric.name: estimate(
                    metric, np.array([row.statistics[metric.name] for row in rows]), seed=self._seed
                )
                for metric in self.metrics
                if rows
            }
        return self._leaks[name]

    def ranked(
        self, setting: str, among: Sequence[str] | None = None
    ) -> list[tuple[TrialAttacker, dict[str, Figure]]]:
        """The attackers of a setting who read something, who reads most first.

        Who searches attacks fewer texts, and easier ones would flatter him: he is compared on those, with
        somebody who attacked all. Each keeps the figures of his own texts.
        """
        asked = [one for one in self.attackers if among is None or one.name in among]
        read = {one.name: self._f1_by_text(setting, one.name) for one in asked}
        there = [one for one in asked if read[one.name]]
        if not there:
            return []
        other = read[max(there, key=lambda one: len(read[one.name])).name]

        def above(one: TrialAttacker) -> float:
            mine = read[one.name]
            shared = [text for text in mine if text in other] or [*mine]
            return sum(mine[text] - other.get(text, 0.0) for text in shared) / len(shared)

        return [(one, self.leak(setting, one.name)) for one in sorted(there, key=above, reverse=True)]

    def _f1_by_text(self, setting: str, attacker: str) -> dict[int, float]:
        rows = self._rows.get(variant(setting, attacker), [])
        return {row.sample: row.statistics[F1][0] for row in rows}

    @cached_property
    def floor(self) -> dict[str, Figure]:
        return self.leak(FLOOR, "shuffled")

    @cached_property
    def clean(self) -> SettingRow | None:
        """The setting without a defence, if it was measured."""
        return next((one for one in self.settings if one.setting == NONE), None)

    def utility(self, setting: SettingRow) -> dict[str, Figure]:
        """Each measure of its cost: means over queries, the rank correlation."""
        out = {}
        for name, values in setting.utility.items():
            if name == STS:
                out[name] = spearman_figure(
                    np.array(values), self._sts, seed=self._seed, resamples=_STS_RESAMPLES
                )
            else:
                out[name] = estimate(Share(name), column(values), seed=self._seed)
        return out

    def kept(self, setting: SettingRow) -> Figure:
        """The share of undefended nDCG that is left, mean over the benchmarks; of neighbours without any."""
        sets = [name for name in setting.utility if name.endswith(f"/{NDCG}")]
        if not sets or self.clean is None:
            return estimate(Share(NEIGHBOURS), column(setting.utility[NEIGHBOURS]), seed=self._seed)
        groups = [
            np.array([setting.utility[name], self.clean.utility[name]]).T for name in sets
        ]  # [n, 2] each
        return estimate_mean(Kept("retrieval kept"), groups, seed=self._seed)

    def missing(self, setting: SettingRow, among: Sequence[str] | None = None) -> tuple[str, ...]:
        """Attackers of some who could attack a setting and have not yet: how strong it is nobody knows."""
        return tuple(
            one.title
            for one in self.attackers
            if (among is None or one.name in among)
            and one.name not in setting.obstacles
            and not self.leak(setting.setting, one.name)
        )

    def points(self, among: Sequence[str] | None = None) -> list[Point]:
        """Every setting that was attacked, as its best attacker of some leaves it."""
        out = []
        for one in self.settings:
            ranked = self.ranked(one.setting, among)
            if ranked:
                best, figures = ranked[0]
                out.append(
                    Point(
                        setting=one.setting,
                        title=one.title,
                        leakage=figures[F1],
                        exact=figures[EXACT],
                        attacker=best.title,
                        kept=self.kept(one),
                        secret=one.secret,
                        missing=self.missing(one, among),
                    )
                )
        return out
