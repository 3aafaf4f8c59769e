"""`unembed audit`: what a vector store gives away, to whom."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.audit.audit_config import AuditConfig
from unembed.cli.cluster_options import cluster_options, take_cluster
from unembed.cli.console import json_option, print_json, print_table, say
from unembed.cli.options import build_config, options_from, trust_option
from unembed.errors import FindingsError

if TYPE_CHECKING:
    from unembed.audit.audit_report import AuditReport
    from unembed.audit.dry_run import Forecast

_EXAMPLES = """\b
Examples:
  unembed audit qdrant:./store#documents --text-field page_content
  unembed audit chroma:./chroma#notes --samples 500 --fail-over exact=0.05,pii=0.01 -o report/
  unembed audit "pgvector://user@host/db?table=docs&column=embedding" --dry-run
  unembed audit vectors.parquet --baseline last/report.json
  unembed audit qdrant:./store#documents --canaries canaries.jsonl --fail-over canary=0
Exit code 7: more leaked than --fail-over allows, or than in the --baseline.
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.argument("store", metavar="STORE")
@options_from(AuditConfig)
@click.option(
    "--dry-run", is_flag=True, help="Only say what would be read, who attacks, how long and at what cost."
)
@cluster_options
@trust_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder of the report; give the same one to go on after Ctrl-C.  [default: audits/...]",
)
@json_option
def command(
    store: str, dry_run: bool, trust_remote_code: bool, output: Path | None, as_json: bool, **typed: Any
) -> None:
    """Measure what could be read out of a vector STORE, by whom, and at what cost.

    STORE is an address such as qdrant:./folder#collection, or a file of vectors. It is only read. Rows are
    drawn at random; attackers who have more and more recover their texts; what came back is reported beside
    what could have been guessed. Reports hold no full texts unless --show-texts is given.
    """
    cluster = take_cluster(typed)
    config = build_config(AuditConfig, typed)
    if dry_run:
        from unembed.audit.dry_run import forecast

        _print_forecast(forecast(store, config, trust_remote_code=trust_remote_code), as_json=as_json)
        return
    from unembed.audit.attack import RecoverAll, recover_here
    from unembed.audit.auditor import audit

    recover: RecoverAll = recover_here
    if cluster.on is not None:
        from unembed.cluster.attack_on_cluster import ClusterRecovery

        recover = ClusterRecovery(cluster, config.model, trust_remote_code=trust_remote_code)
    report = audit(
        store,
        output,
        config,
        trust_remote_code=trust_remote_code,
        quiet=as_json,
        announce=None if as_json else say,
        recover=recover,
    )
    _print(report, as_json=as_json)
    if report.status == "interrupted":
        from unembed.cli.main import INTERRUPTED

        say("Interrupted: this is what was measured until then. Run the same command again to go on.")
        sys.exit(INTERRUPTED)
    if not report.gate.passed:
        raise FindingsError(
            "More leaked than is allowed: " + " ".join(one.says for one in report.gate.findings),
            hint="The report says what to do next.",
        )


def _print(report: AuditReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    from unembed.audit.completions import TITLE
    from unembed.audit.figure_text import cell

    click.echo(report.headline)
    groups = [(one.title, one.measures) for one in report.attackers]
    groups += [(TITLE + (", long texts" if one.long else ""), one.measures) for one in report.completions]
    rows = [
        (
            title if number == 0 else "",
            measure.label,
            measure.figure.n,
            cell(measure.figure),
            cell(measure.leaked),
        )
        for title, measures in groups
        for number, measure in enumerate(measures)
    ]
    if rows:
        print_table(("attacker", "what", "n", "came back", "leaked"), rows)
    for one in report.attackers:
        if one.status != "measured":
            click.echo(f"{one.title}: {one.status}. {one.reason}")


def _print_forecast(found: Forecast, *, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for line in found.lines():
        click.echo(line)
