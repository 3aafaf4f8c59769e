"""The measuring itself: settings, attackers and benchmarks in; rows that are kept, and figures of them, out.

It knows neither prepared data nor a store's address: `run_trials` and an audit both use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.rows import RowLog
from unembed.metrics.base import Metric
from unembed.metrics.registry import make_metrics
from unembed.progress import progress_bar
from unembed.trials.attack_defended import DefendedAttack
from unembed.trials.attackers_bench import AttackersBench
from unembed.trials.defended_store import DefendedStore
from unembed.trials.settings_of_defences import Setting
from unembed.trials.trial_attackers import TrialAttacker, WithEncoder
from unembed.trials.trial_figures import TrialFigures
from unembed.trials.trial_rows import SettingLog, SettingRow, variant
from unembed.trials.trials_config import TrialsConfig
from unembed.trials.utility import NDCG, STS, Benchmarks, measure_utility

_METRICS = ("token_f1", "exact_match", "rouge_l")


@dataclass(frozen=True)
class SettingTrials:
    """One collection and its attackers, for any number of settings."""

    bench: AttackersBench
    attackers: Sequence[TrialAttacker]
    config: EvaluateConfig
    trials: TrialsConfig

    @property
    def metrics(self) -> list[Metric]:
        return make_metrics(_METRICS)

    def measure(
        self,
        settings: Sequence[Setting],
        rows: RowLog,
        costs: SettingLog,
        benchmarks: Benchmarks,
        *,
        quiet: bool,
    ) -> None:
        """Everything that is not there yet: a first round over all settings, the searches, then the rest."""
        n = len(self.bench.collection.targets)
        each = sum(n if one.at_most is None else min(n, one.at_most) for one in self.attackers)
        wanted = {variant(setting.key, one.name) for setting in settings for one in self.attackers}
        done, total = sum(row.variant in wanted for row in rows.rows), each * len(settings) + n
        with progress_bar("defences", total=total, unit="rows", done=done, quiet=quiet) as progress:
            attack = DefendedAttack(self.bench, self.config, self.trials, self.metrics, rows, progress)
            attack.floor()
            searching = [one for one in self.attackers if isinstance(one, WithEncoder)]
            others = [one for one in self.attackers if one not in searching]
            for attackers, upto in ((others, self.trials.first_samples), (searching, n), (others, n)):
                for setting in settings:
                    store = DefendedStore(self.bench.collection, setting, self.config.seed)
                    progress.describe(f"{setting.key}: cost")
                    known = self._cost(setting, store, benchmarks, costs)
                    for attacker in attackers:
                        if attacker.name not in known.obstacles:
                            attack.run(attacker, store, upto)

    def figures(
        self,
        settings: Sequence[Setting],
        rows: RowLog,
        costs: SettingLog,
        sts_scores: Sequence[float] = (),
    ) -> TrialFigures:
        """Of the rows that are there, and of nothing else."""
        found = [row for one in settings if (row := costs.of(one.key)) is not None]
        return TrialFigures(
            rows.rows, found, self.attackers, self.metrics, sts_scores=sts_scores, seed=self.config.seed
        )

    def _cost(
        self, setting: Setting, store: DefendedStore, benchmarks: Benchmarks, costs: SettingLog
    ) -> SettingRow:
        """What is known of a setting; what these attackers and benchmarks lack is measured and kept."""
        before = costs.of(setting.key)
        if before is not None and self._complete(before, benchmarks):
            return before
        found = {one.name: one.obstacle(store, self.bench) for one in self.attackers}
        dimension = store.collection.vectors.shape[1]
        known = {} if before is None else before.utility
        now = SettingRow(
            setting=setting.key,
            method=setting.info.name,
            title=setting.info.title,
            strength=setting.strength,
            secret=setting.info.secret,
            described=store.defence.describe(),
            dimension=store.defence.dimension(dimension),
            bytes_per_vector=store.defence.bytes_per_vector(dimension),
            obstacles={
                **({} if before is None else before.obstacles),
                **{name: reason for name, reason in found.items() if reason is not None},
            },
            asked=tuple(dict.fromkeys((*(() if before is None else before.asked), *found))),
            utility=measure_utility(setting, store, benchmarks, known, seed=self.config.seed),
        )
        costs.append([now])
        return now

    def _complete(self, row: SettingRow, benchmarks: Benchmarks) -> bool:
        """Whether these attackers and benchmarks are all in it."""
        wanted = [f"{one.judged.name}/{NDCG}" for one in benchmarks.sets]
        wanted += [STS] if benchmarks.sts is not None else []
        return {one.name for one in self.attackers} <= set(row.asked) and set(wanted) <= set(row.utility)
