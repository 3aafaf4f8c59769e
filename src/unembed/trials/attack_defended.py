"""One attacker on one defended store: a row per text that has none, saved batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.floors import derangement
from unembed.evaluation.measured_rows import measured_rows
from unembed.evaluation.recovery import Recovery
from unembed.evaluation.rows import RowLog
from unembed.evaluation.samples import Samples
from unembed.inverter import WINDOW
from unembed.metrics.base import Metric
from unembed.progress import Progress
from unembed.trials.attackers_bench import AttackersBench, Reader
from unembed.trials.defended_store import DefendedStore, Floats
from unembed.trials.trial_attackers import TrialAttacker, WithEncoder
from unembed.trials.trial_rows import FLOOR, variant
from unembed.trials.trials_config import TrialsConfig

GUIDED_BATCH = 8  # texts between two saves: they take seconds each
_ORDER = 6  # the seed's stream for the order of texts


class DefendedAttack:
    """The attackers' hands: how vectors become rows."""

    def __init__(
        self,
        bench: AttackersBench,
        config: EvaluateConfig,
        trials: TrialsConfig,
        metrics: Sequence[Metric],
        log: RowLog,
        progress: Progress,
    ) -> None:
        self.bench, self.config, self.trials = bench, config, trials
        self.metrics, self.log, self.progress = metrics, log, progress

    @property
    def samples(self) -> Samples:
        return self.bench.collection.targets

    def run(self, attacker: TrialAttacker, store: DefendedStore, upto: int) -> None:
        """Every text of the first that he has not attacked yet; an adapter is fitted only if there is one."""
        name = variant(store.setting.key, attacker.name)
        left = self._left(name, upto if attacker.at_most is None else min(upto, attacker.at_most))
        if not left:
            return
        self.progress.describe(f"{store.setting.key}: {attacker.title}")
        reader = attacker.reader(store, self.bench)
        vectors = reader.prepare(store.targets)
        if isinstance(attacker, WithEncoder):
            recovery, size = self._recovery(reader, attacker.judge(store)), GUIDED_BATCH
        else:
            recovery, size = self._recovery(reader), WINDOW * self.config.batch
        self._measure(name, recovery, vectors, left, size)

    def floor(self) -> None:
        """What comes back from another text's vector: known without reading anything."""
        name = variant(FLOOR, "shuffled")
        left = self._left(name, None)
        if left:
            other = derangement(len(self.samples), seed=self.config.seed)
            vectors = self.bench.plain.prepare(self.samples.vectors[other])
            recovery = self._recovery(self.bench.plain)
            self._measure(name, recovery, vectors, left, WINDOW * self.config.batch)

    @cached_property
    def _order(self) -> list[int]:
        """Texts in the order in which they are attacked: whoever attacks a few has a random few of them, in
        whatever order they were given.
        """
        order: list[int] = (
            np.random.default_rng([self.config.seed, _ORDER]).permutation(len(self.samples)).tolist()
        )
        return order

    def _left(self, name: str, at_most: int | None) -> list[int]:
        done = {row.sample for row in self.log.rows if row.variant == name}
        numbers = self.samples.numbers.tolist()
        return [index for index in self._order[:at_most] if numbers[index] not in done]

    def _recovery(self, reader: Reader, guide: Encoder | None = None) -> Recovery:
        config = self.config
        return Recovery(
            reader.inverter,
            strategy=config.strategy,
            steps=config.steps,
            num_lengths=config.num_lengths,
            quality=config.quality,
            ranking=config.ranking,
            precision=config.precision,
            seed=config.seed,
            batch=config.batch if guide is None else GUIDED_BATCH,
            options=config.search_options if guide is not None else {},
            guide=guide,
        )

    def _measure(self, name: str, recovery: Recovery, vectors: Floats, left: list[int], size: int) -> None:
        for first in range(0, len(left), size):
            part = np.array(left[first : first + size])
            lengths = self._given_lengths(part)
            if recovery.guide is not None:
                [found] = recovery.texts_within(vectors[part], lengths, [self.trials.guided_calls])
            else:
                found = recovery.texts(vectors[part], lengths)
            self.log.append(measured_rows(self.samples, part.tolist(), name, found, self.metrics))
            self.progress.advance(len(part))

    def _given_lengths(self, part: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int] | None:
        if not self.config.known_length:
            return None
        given: list[int] = np.minimum(self.samples.lengths[part], self.bench.inverter.max_length).tolist()
        return given
