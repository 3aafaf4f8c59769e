"""An audit's inversions by many workers: the same rows, and so the same report.

Whoever attacks with the audit's own model can be helped; the one who fitted an adapter has it only here.
"""

from __future__ import annotations

import base64
import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from unembed.audit.attack import recover_here
from unembed.audit.attackers import Attacker
from unembed.audit.case import Case
from unembed.cluster.cluster_config import ClusterConfig, everywhere
from unembed.cluster.invert_worker import load_inverter, model_identity, refuse_other_model
from unembed.cluster.ray_session import ray_session
from unembed.cluster.run_jobs import Answer, Job, in_order, run_jobs
from unembed.decode.result import Advance, Alternative, Inversion
from unembed.invert_config import InvertConfig
from unembed.progress import Progress


class AttackWorker:
    """Settings: model, device, trust_remote_code, config, identity."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._inverter = load_inverter(settings)
        self._config = InvertConfig(**settings["config"])
        refuse_other_model(self._inverter, self._config, settings["identity"])

    def __call__(self, job: Job) -> Answer:
        numbers = np.frombuffer(base64.b64decode(job["vectors"]), np.float32)
        vectors = numbers.reshape(-1, self._inverter.dimension).copy()  # [n, D]
        began = time.perf_counter()
        found = self._inverter.invert(vectors, self._config)
        seconds = (time.perf_counter() - began) / len(vectors)
        plain = [dataclasses.asdict(one) for one in found]
        return {"number": job["number"], "found": plain, "seconds": seconds}


class ClusterRecovery:
    """What `audit` is given as `recover`."""

    def __init__(self, cluster: ClusterConfig, model: str | None, *, trust_remote_code: bool) -> None:
        self._cluster, self._model, self._trust = cluster, model, trust_remote_code

    def __call__(
        self, attacker: Attacker, case: Case, batches: Sequence[Sequence[int]], progress: Progress
    ) -> Iterator[tuple[Sequence[Inversion], float]]:
        config, inverter = attacker.options(case), case.chosen.inverter
        if config is None or inverter is None:
            yield from recover_here(attacker, case, batches, progress)
            return
        settings = {
            "model": everywhere(self._model),
            "device": "cpu",
            "trust_remote_code": self._trust,
            "config": config.model_dump(mode="json"),
            "identity": model_identity(inverter, config, "cpu"),
        }
        jobs: list[Job] = [
            {"number": number, "vectors": base64.b64encode(case.vectors[list(batch)].tobytes()).decode()}
            for number, batch in enumerate(batches)
        ]
        with ray_session(self._cluster):
            for answer in in_order(run_jobs(AttackWorker, settings, jobs, self._cluster), jobs):
                found = [_inversion(one) for one in answer["found"]]
                progress.advance(len(found))
                yield found, answer["seconds"]


def _inversion(plain: dict[str, Any]) -> Inversion:
    """What `dataclasses.asdict` took apart; there is no trace in it."""
    others = tuple(Alternative(**{**one, "tokens": tuple(one["tokens"])}) for one in plain["alternatives"])
    changes: dict[str, Any] = {"alternatives": others}
    for name in ("advances", "at_calls"):
        changes[name] = tuple(Advance(**{**one, "tokens": tuple(one["tokens"])}) for one in plain[name])
    for name in ("tokens", "log_probs"):
        changes[name] = tuple(plain[name])
    return Inversion(**{**plain, **changes})
