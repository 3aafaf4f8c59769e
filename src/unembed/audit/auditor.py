"""`unembed audit`: sample a store, let the attackers at it, say what they got.

What is not finished lies in the folder `unfinished`: the plan, the sampled rows with their texts, what was
recovered so far. The same command goes on with it. A complete audit leaves no text behind unless asked.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unembed.audit import completions
from unembed.audit.attack import RecoverAll, attack, recover_here
from unembed.audit.attack_rows import ROWS_NAME, AttackLog
from unembed.audit.attackers import Attacker, make_attackers
from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import AuditReport, Defences, read_audit
from unembed.audit.calibration import load_calibration, model_digest
from unembed.audit.case import Case, make_case
from unembed.audit.formats import write_formats
from unembed.audit.sampled_store import keep, kept, planted_by_vector, sample_store
from unembed.audit.summary_of_audit import Ending, summarise_audit
from unembed.audit.tried_defences import try_defences
from unembed.audit.which_encoder import choose_model
from unembed.canaries import Canary, read_canaries
from unembed.config_file import settings_from
from unembed.errors import UnembedError
from unembed.inverter import Inverter
from unembed.storage import digest_file, digest_json, folder_lock, settle_plan
from unembed.stores.base import Store
from unembed.stores.registry import open_store

UNFINISHED = "unfinished"
FORMAT = 1


@dataclass(frozen=True)
class Opened:
    """What an audit needs before it reads a row."""

    store: Store
    base: Inverter
    canaries: tuple[Canary, ...]
    baseline: AuditReport | None

    def plan(self, config: AuditConfig) -> dict[str, Any]:
        """Everything that the rows depend on: only the same audit goes on with them."""
        info = self.store.describe()
        return {
            "kind": "audit",
            "format": FORMAT,
            "store": [info.address, info.collection, info.vector.name, info.text_field],
            "model_digest": model_digest(self.base.checkpoint),
            "canaries_digest": digest_file(config.canaries) if config.canaries is not None else None,
            **config.identity(),
        }


def open_audit(address: str, config: AuditConfig, *, trust_remote_code: bool = False) -> Opened:
    """Open everything, so that what is mistyped is an error before anything is read."""
    canaries = tuple(read_canaries(config.canaries)) if config.canaries is not None else ()
    baseline = read_audit(config.baseline) if config.baseline is not None else None
    store = open_store(address, vector=config.vector, text_field=config.text_field, timeout=config.timeout)
    try:
        base = Inverter.from_pretrained(config.model, trust_remote_code=trust_remote_code)
        base.checkpoint.check_map()  # whoever has the vectors alone attacks first
    except BaseException:
        store.close()
        raise
    return Opened(store, base, canaries, baseline)


def audit(
    address: str,
    output: str | Path | None = None,
    config: AuditConfig | None = None,
    *,
    trust_remote_code: bool = False,
    quiet: bool = True,
    announce: Callable[[str], None] | None = None,
    recover: RecoverAll = recover_here,
    **fields: Any,
) -> AuditReport:
    """Attack a sample of a store's vectors, and write what came back: what `unembed audit` does.

        >>> report = audit("qdrant:./store#documents", "report/", samples=100)
        >>> report.headline, report.gate.passed
        >>> report.attackers[0].measure("exact").leaked  # value, low, high, n

    `fields` are those of `AuditConfig`, on top of `config`. The report goes to `output` as HTML, JSON,
    Markdown, JUnit and SARIF. Ctrl-C ends the attacks, not the audit: its report says how far they got, and
    the same call goes on. `recover` runs the attackers' inversions: in this process, or on a cluster.
    """
    config = settings_from(AuditConfig, config, fields)
    tell = announce or (lambda text: None)
    opened = open_audit(address, config, trust_remote_code=trust_remote_code)
    try:
        plan = opened.plan(config)
        folder = Path(output) if output is not None else default_folder(plan)
        with folder_lock(folder):
            return _audit(folder, plan, opened, config, quiet=quiet, tell=tell, recover=recover)
    finally:
        opened.store.close()


def default_folder(plan: dict[str, Any]) -> Path:
    """Named after the collection."""
    name = plan["store"][1] or Path(str(plan["store"][0])).stem
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[:40]
    return Path("audits") / f"{safe}-{digest_json(plan)[:8]}"


def _audit(
    folder: Path,
    plan: dict[str, Any],
    opened: Opened,
    config: AuditConfig,
    *,
    quiet: bool,
    tell: Callable[[str], None],
    recover: RecoverAll,
) -> AuditReport:
    unfinished = folder / UNFINISHED
    settle_plan(unfinished, plan)
    unfinished.chmod(0o700)  # it holds texts
    sample = kept(unfinished)
    if sample is None:
        sample = sample_store(
            opened.store,
            config.samples,
            config.pairs if "pairs" in config.wanted else 0,
            seed=config.seed,
            canaries=opened.canaries,
            quiet=quiet,
        )
        keep(unfinished, sample)
    chosen = choose_model(sample, config, opened.base)
    encoder = chosen.local_encoder
    if opened.canaries and not sample.has_texts and not sample.planted and encoder is not None:
        embedded = encoder.encode([one.text for one in opened.canaries])
        found = planted_by_vector(opened.store, opened.canaries, embedded, quiet=quiet)
        sample = replace(sample, planted=found)
        keep(unfinished, sample)
    tell(_encoder_sentence(chosen.finding.name, chosen.finding.sure))
    case = make_case(sample, chosen, config, load_calibration(opened.base.checkpoint))
    with AttackLog(unfinished) as log:
        if log.rows:
            tell(f"Going on with {folder}: {len(log.rows):,} rows are there.")
        attackers = make_attackers(config.wanted)
        reasons = {one.name: one.obstacle(case) if case.targets else _nothing(case) for one in attackers}
        ending, error = _run(attackers, reasons, case, log, quiet=quiet, recover=recover)
        ending, tried = _try(ending, case, unfinished, quiet=quiet)
        report, rows = summarise_audit(
            case,
            sample,
            log,
            attackers,
            reasons,
            ending,
            opened.baseline,
            given=len(opened.canaries),
            quiet=quiet,
        )
        report = report.model_copy(update={"defences": tried})
        write_formats(folder, report)
        if ending.status == "complete":
            log.replace(rows)
            (unfinished / ROWS_NAME).replace(folder / ROWS_NAME)
    if ending.status == "complete":
        shutil.rmtree(unfinished)
    tell(f"The report is in {folder / 'report.html'}.")
    if error is not None:
        raise error
    return report


def _run(
    attackers: Sequence[Attacker],
    reasons: dict[str, str | None],
    case: Case,
    log: AttackLog,
    *,
    quiet: bool,
    recover: RecoverAll,
) -> tuple[Ending, UnembedError | None]:
    """Everybody who is possible, one after the other; what ends them early ends no report."""
    try:
        for attacker in attackers:
            if reasons[attacker.name] is None:
                attack(attacker, case, log, quiet=quiet, recover=recover)
        if completions.NAME in case.config.wanted:
            completions.complete(case, log, quiet=quiet)
    except KeyboardInterrupt:
        return Ending("interrupted", "Interrupted; the same command goes on."), None
    except UnembedError as error:
        return Ending("failed", error.message), error
    return Ending("complete", None), None


def _try(ending: Ending, case: Case, unfinished: Path, *, quiet: bool) -> tuple[Ending, Defences | None]:
    """What would help, once everybody has attacked."""
    if ending.status != "complete":
        return ending, None
    try:
        return ending, try_defences(case, unfinished, quiet=quiet)
    except KeyboardInterrupt:
        return Ending("interrupted", "Interrupted; the same command goes on."), None


def _nothing(case: Case) -> str:
    if case.long:
        return "All sampled texts are longer than the model writes; their words are reported instead."
    return "No sampled row could be attacked: see what was left out of the sample."


def _encoder_sentence(name: str | None, sure: str) -> str:
    return f"The encoder: {name} ({sure})." if name else f"The encoder is not known ({sure})."
