"""What would help this very store: its vectors behind a few defences, read by attackers who know of them.

The same code as `unembed evaluate --defences` (`trials`), with few texts, cheap attackers, and the store's
own neighbours for the cost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unembed.adaptation.pairs import LEAST, LEAST_TOKENS
from unembed.audit.audit_report import DefenceRow, Defences
from unembed.audit.case import Case
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.rows import ROWS_NAME, RowLog
from unembed.evaluation.samples import Samples
from unembed.metrics.figure import Figure
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.trials.attackers_bench import AttackersBench
from unembed.trials.defended_store import Collection, Known
from unembed.trials.frontier import recommend
from unembed.trials.measure_settings import SettingTrials
from unembed.trials.settings_of_defences import NONE, all_settings
from unembed.trials.trial_attackers import make_trial_attackers
from unembed.trials.trial_figures import F1, TrialFigures
from unembed.trials.trial_rows import SettingLog
from unembed.trials.trials_config import TrialsConfig
from unembed.trials.utility import Benchmarks

FOLDER = "defences"
TEXTS = 40  # attacked behind each defence
AGAINST = ("unaware", "aware", "columns", "pairs")  # the encoder takes minutes: `evaluate --defences` has him


def try_defences(case: Case, folder: Path, *, quiet: bool = True) -> Defences | None:
    """What each defence leaves and costs on this store; None where it is switched off.

    Rows are kept in a folder of `folder`: a later call goes on.
    """
    wanted = case.config.defences
    if wanted == (NONE,):
        return None
    collection = _collection(case)
    if isinstance(collection, str):
        return Defences(note=f"Defences were not tried: {collection}")
    assert case.chosen.inverter is not None
    pairs = len(collection.known.texts)
    trials = TrialsConfig(defences=wanted, against=AGAINST, known_pairs=(pairs,), first_samples=TEXTS)
    config = EvaluateConfig(samples=TEXTS, quality="fast", batch=16, seed=case.config.seed)
    bench = AttackersBench(case.chosen.inverter, collection)
    tried = SettingTrials(bench, make_trial_attackers(trials, None), config, trials)
    settings = all_settings(wanted)
    with RowLog(folder / FOLDER / ROWS_NAME) as rows, SettingLog(folder / FOLDER) as costs:
        tried.measure(settings, rows, costs, Benchmarks(), quiet=quiet)
        return _summary(tried.figures(settings, rows, costs), len(collection.targets), pairs)


def _summary(figures: TrialFigures, n: int, pairs: int) -> Defences:
    """The table, what leaks least first; no defence last."""
    points = figures.points()
    undefended = next(point for point in points if point.setting == NONE)
    others = sorted(
        (point for point in points if point.setting != NONE), key=lambda point: point.leakage.value
    )
    floor: Figure | None = figures.floor.get(F1)
    said = " ".join(recommend(others, undefended, floor))
    return Defences(
        note=f"Token F1 of the best attacker on {n} sampled texts: one is unaware of the defence, one knows "
        f"the method, one matches columns, one knows {pairs} texts of the store; beside the share of the ten "
        f"nearest neighbours that a search still finds. {said} None of them had the defended encoder at "
        "hand: 'unembed evaluate --defences' has him too.",
        rows=tuple(
            DefenceRow(
                name=point.title,
                setting=f"{point.setting} (best: {point.attacker})",
                leakage=point.leakage,
                neighbours_kept=point.kept,
            )
            for point in (*others, undefended)
        ),
    )


def _collection(case: Case) -> Collection | str:
    """The sampled store as attackers see it; or why there is nothing to measure, as a sentence."""
    inverter = case.chosen.inverter
    if inverter is None:
        return "no model inverts these vectors."
    if isinstance(inverter.checkpoint, AdaptedCheckpoint):
        return "the model is an adapter itself, and attackers would have to adapt it again."
    if not case.with_texts:
        return "the store has no texts to compare with."
    numbers = case.usual[:TEXTS]
    texts = [case.targets[number].text or "" for number in numbers]
    attacked = set(texts)
    rows = [row for row in case.others if row.text and row.text not in attacked]
    lengths = [len(ids) for ids in case.tokens([row.text or "" for row in rows])]
    rows = [
        row
        for row, length in zip(rows, lengths, strict=True)
        if LEAST_TOKENS <= length <= inverter.max_length
    ]
    if len(numbers) < 2 or len(rows) < 2 * LEAST:
        return f"the store has {len(rows)} further texts that attackers could know; they need {2 * LEAST}."
    half = len(rows) // 2
    known, own = (
        Known([row.text or "" for row in part], np.stack([row.vector for row in part]))
        for part in (rows[:half], rows[half:])
    )
    vectors = case.vectors[numbers]
    targets = Samples(np.arange(len(numbers)), texts, case.tokens(texts), vectors, [""] * len(numbers))
    return Collection(targets, known, own)
