"""`unembed evaluate --defences`: every attacker on every defence, beside what each defence costs.

Rows come first, and are kept: the same command goes on after an interruption, and with further defences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unembed.encoders.base import Encoder
from unembed.errors import UnembedError
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.rows import ROWS_NAME, RowLog
from unembed.evaluation.targets import Target, TargetSpec, load_target, victim
from unembed.report.document import SUMMARY_NAME, Report, write_report
from unembed.report.render import render
from unembed.retrieval.beir_folder import read_beir
from unembed.retrieval.embedded_set import embed_set, embed_sts
from unembed.retrieval.sts_pairs import read_sts
from unembed.storage import digest_json, folder_lock, settle_plan
from unembed.trials.attackers_bench import AttackersBench
from unembed.trials.defended_store import collect_known
from unembed.trials.measure_settings import SettingTrials
from unembed.trials.settings_of_defences import Setting, all_settings
from unembed.trials.trial_attackers import make_trial_attackers
from unembed.trials.trial_rows import SettingLog
from unembed.trials.trials_config import TrialsConfig
from unembed.trials.trials_report import trials_report
from unembed.trials.utility import Benchmarks
from unembed.version import __version__

FORMAT = 1
VECTORS = "vectors"  # folder of the benchmarks' vectors


def run_trials(
    model: str | Path | None,
    data: str | Path,
    output: str | Path | None,
    config: EvaluateConfig,
    trials: TrialsConfig,
    *,
    encoder: Encoder | None = None,
    trust_remote_code: bool = False,
    plots: bool = True,
    quiet: bool = True,
    announce: Callable[[str], None] | None = None,
) -> Report:
    """Measure what defences leave and cost: what `unembed evaluate --defences` does.

        >>> trials = TrialsConfig(defences=("gaussian", "rotation"), retrieval=("beir/scifact",))
        >>> report = run_trials(None, "data/short", "trials/", EvaluateConfig(samples=300), trials)
        >>> report.conclusions

    Ctrl-C ends the attacks, not the report: it is made of what is there, and the same call goes on.
    """
    tell = announce or (lambda text: None)
    settings = all_settings(trials.defences)
    spec = TargetSpec(None if model is None else str(model), Path(data))
    target = load_target(spec, spec.name, config.model_copy(update={"floors": False}), trust_remote_code)
    identity = _identity(target, config, trials)
    folder = Path(output) if output is not None else _default_folder(spec, identity)
    run = _Trials(target, config, trials, encoder, trust_remote_code)
    with folder_lock(folder):
        settle_plan(folder, identity)
        interrupted = False
        with RowLog(folder / ROWS_NAME) as rows, SettingLog(folder) as costs:
            if rows.rows:
                tell(f"Resuming {folder}: {len(rows.rows):,} rows are there.")
            try:
                run.measure(settings, rows, costs, folder / VECTORS, quiet=quiet)
            except KeyboardInterrupt:
                interrupted = True
            report = run.report(settings, rows, costs, identity)
        write_report(folder / SUMMARY_NAME, report)
        render(report, folder, plots=plots)
    tell(f"Rows, summary, tables and the picture are in {folder}.")
    if interrupted:
        raise KeyboardInterrupt
    return report


class _Trials:
    """One run: what it measures with, made when it is needed."""

    def __init__(
        self,
        target: Target,
        config: EvaluateConfig,
        trials: TrialsConfig,
        encoder: Encoder | None,
        trust_remote_code: bool,
    ) -> None:
        self.target, self.config, self.trials = target, config, trials
        longest = target.inverter.max_length
        known = collect_known(target.data, target.samples, trials.most_pairs, longest, seed=config.seed)
        self.collection = known
        self.sets = [read_beir(one) for one in trials.retrieval]
        self.sts = None if trials.sts is None else read_sts(trials.sts)
        self._trust = trust_remote_code
        self.encoder = encoder or self._load_encoder()
        attackers = make_trial_attackers(trials, self.encoder)
        bench = AttackersBench(target.inverter, known, self.encoder)
        self.settings = SettingTrials(bench, attackers, config, trials)

    def _load_encoder(self) -> Encoder | None:
        """The encoder that made the vectors, where it is needed and here."""
        embeds = bool(self.sets) or self.sts is not None
        if not embeds and "encoder" not in self.trials.against:
            return None
        try:
            return victim(self.target.data, self._trust)
        except UnembedError:
            if embeds:
                raise
            return None

    def measure(
        self, settings: Sequence[Setting], rows: RowLog, costs: SettingLog, vectors: Path, *, quiet: bool
    ) -> None:
        """Everything that is not there yet."""
        self.settings.measure(settings, rows, costs, self._embed(vectors, quiet=quiet), quiet=quiet)

    def _embed(self, folder: Path, *, quiet: bool) -> Benchmarks:
        if not self.sets and self.sts is None:
            return Benchmarks()
        encoder = self.encoder
        assert encoder is not None
        return Benchmarks(
            tuple(embed_set(one, encoder, folder, quiet=quiet) for one in self.sets),
            None if self.sts is None else embed_sts(self.sts, encoder, folder, quiet=quiet),
        )

    def report(
        self, settings: Sequence[Setting], rows: RowLog, costs: SettingLog, about: dict[str, Any]
    ) -> Report:
        """Of the rows that are there, and of nothing else."""
        scores = () if self.sts is None else self.sts.scores
        return trials_report(
            self.settings.figures(settings, rows, costs, scores),
            title="Defences on trial",
            about={**about, "unembed": __version__},
            facts=self._facts(),
        )

    def _facts(self) -> dict[str, str]:
        config, described = self.config, self.target.describe()
        tokens = sorted(len(ids) for ids in self.collection.targets.tokens)
        sets = [*(one.name for one in self.sets), *([self.sts.name] if self.sts is not None else [])]
        return {
            "Model": f"{described['label']}, {(described['model'] or '')[:12]}",
            "Data": f"{config.split} split of {described['data'][:12]}, {described['encoder']} vectors, "
            f"{len(tokens):,} texts of {tokens[0]} to {tokens[-1]} tokens, seed {config.seed}",
            "Decoding": f"{config.strategy}, quality {config.quality}, length "
            + ("known" if config.known_length else "unknown"),
            "Attackers": f"{len(self.collection.known.texts):,} further texts of the same store, "
            f"{len(self.collection.own.texts):,} of the attackers' own; with the encoder "
            f"{self.trials.guided_calls} calls a text on {self.trials.guided_samples} texts",
            "Retrieval": ", ".join(sets) or "neighbours of the store's own vectors only",
        }


def _identity(target: Target, config: EvaluateConfig, trials: TrialsConfig) -> dict[str, Any]:
    """Everything that rows depend on but defence, attacker and benchmark, which they name themselves: so a
    folder takes further ones.
    """
    return {
        "kind": "defences",
        "format": FORMAT,
        "target": target.describe(),
        "split": config.split,
        "tokens": [config.min_tokens, config.max_tokens],
        "samples": config.samples,
        "seed": config.seed,
        "length_known": config.known_length,
        "decoding": [
            *(config.strategy, config.quality, config.steps, config.num_lengths),
            *(config.ranking, config.precision),
        ],
        "search": config.search_settings,
        **trials.identity(),
    }


def _default_folder(spec: TargetSpec, identity: dict[str, Any]) -> Path:
    name = spec.name.replace("/", "-").replace(" ", "-")
    return Path("evaluations") / f"defences-{name}-{digest_json(identity)[:8]}"
