"""One attacker on the rows that he has not attacked yet: batch by batch, each saved before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from unembed.audit.attack_rows import AttackLog, AttackRow
from unembed.audit.attackers import Attacker
from unembed.audit.case import Case
from unembed.decode.result import Inversion
from unembed.decode.surrogate_ranking import surrogate_cosines
from unembed.metrics.cosine import cosines
from unembed.progress import Progress, progress_bar

# What an attacker reads out of each batch of targets, and the seconds for one of them; in the batches' order.
RecoverAll = Callable[
    [Attacker, Case, Sequence[Sequence[int]], Progress], Iterator[tuple[Sequence[Inversion], float]]
]


def recover_here(
    attacker: Attacker, case: Case, batches: Sequence[Sequence[int]], progress: Progress
) -> Iterator[tuple[Sequence[Inversion], float]]:
    """One batch after the other, in this process."""
    for batch in batches:
        began = time.perf_counter()
        found = attacker.recover(case, case.vectors[list(batch)], progress)
        yield found, (time.perf_counter() - began) / len(batch)


def attack(
    attacker: Attacker,
    case: Case,
    log: AttackLog,
    *,
    quiet: bool = True,
    recover: RecoverAll = recover_here,
) -> None:
    """Append a row for every target that has none."""
    done = {row.target for row in log.of(attacker.name)}
    wanted = attacker.targets(case)
    left = [number for number in wanted if number not in done]
    with progress_bar(
        f"Attacker: {attacker.name}", total=len(wanted), unit="vectors", done=len(done), quiet=quiet
    ) as progress:
        batches = [left[at : at + attacker.at_once] for at in range(0, len(left), attacker.at_once)]
        recovered = recover(attacker, case, batches, progress)
        for part, (found, seconds) in zip(batches, recovered, strict=True):
            log.append(_rows(attacker, case, part, found, seconds))


def _rows(
    attacker: Attacker, case: Case, part: Sequence[int], found: Sequence[Inversion], seconds: float
) -> list[AttackRow]:
    vectors, texts = case.vectors[list(part)], [one.text for one in found]
    by_surrogate: list[float | None] = [None] * len(part)
    by_encoder: list[float | None] = [None] * len(part)
    # What the auditor sees, not the attacker: only where there is nothing better to compare with.
    chosen = case.chosen
    if not case.with_texts and chosen.inverter is not None:
        if chosen.inverter.has_surrogate:
            by_surrogate = [*surrogate_cosines(chosen.inverter.surrogate, texts, vectors)]
        if all(one.cosine is not None for one in found):
            by_encoder = [one.cosine for one in found]
        elif (encoder := chosen.local_encoder) is not None:
            by_encoder = [*cosines(vectors, encoder.encode(texts).astype(np.float32)).tolist()]
    return [
        AttackRow(
            attacker=attacker.name,
            target=target,
            canary=canary.id if (canary := case.targets[target].canary) is not None else None,
            recovered=one.text,
            score=max(one.score, -1e6),  # JSON knows no infinity
            surrogate_cosine=by_surrogate[row],
            encoder_cosine=by_encoder[row],
            encoder_calls=one.encoder_calls,
            seconds=round(seconds, 4),
        )
        for row, (target, one) in enumerate(zip(part, found, strict=True))
    ]
