"""The tables and the picture of docs/defences.md, from the rows of `unembed evaluate --defences`.

    python benchmarks/defence_tables.py evaluations/defences-... --sts stsb/test.tsv --picture docs/images
    python benchmarks/defence_tables.py ... --only binary,int8 --page docs/defences.md --mark defences-short

It measures nothing, and reads a run that is still going on as well: every figure carries its own n.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from page_marks import renew
from unembed.evaluation.rows import ROWS_NAME, Row
from unembed.metrics.figure import Figure
from unembed.metrics.registry import make_metrics
from unembed.report.document import Report, Table
from unembed.report.document import Row as TableRow
from unembed.report.scatter_plot import plot_scatter
from unembed.retrieval.sts_pairs import read_sts
from unembed.storage import read_json_rows
from unembed.trials.settings_of_defences import NONE, split_names
from unembed.trials.trial_attackers import make_trial_attackers
from unembed.trials.trial_figures import EXACT, F1, TrialFigures
from unembed.trials.trial_rows import SETTINGS_NAME, SettingRow
from unembed.trials.trials_config import ATTACKERS, TrialsConfig
from unembed.trials.trials_report import KEPT, trials_report


def report_of(folder: Path, sts: Path | None, against: tuple[str, ...], only: set[str]) -> Report:
    """What the rows say that are there, of some attackers; of some settings, if there are any."""
    rows = read_json_rows(folder / ROWS_NAME, Row)[0]
    last = {row.setting: row for row in read_json_rows(folder / SETTINGS_NAME, SettingRow)[0]}
    asked = {name for row in last.values() for name in row.asked}
    figures = TrialFigures(
        rows,
        sorted(
            (row for row in last.values() if not only or row.setting in {*only, NONE}),
            key=lambda row: row.setting != NONE,
        ),
        [one for one in make_trial_attackers(TrialsConfig(against=against), None) if one.name in asked],
        make_metrics(("token_f1", "exact_match", "rouge_l")),
        sts_scores=() if sts is None else read_sts(sts).scores,
    )
    return trials_report(figures, title="Defences on trial", about={}, facts={})


def costs(table: Table) -> list[str]:
    """What the best attacker reads, and what it costs."""
    sets = [column.name for column in table.columns if column.name.endswith("/ndcg")]
    head = ["defence", "best attacker", "n", "token F1 %", "exact %", "retrieval kept %"]
    head += [part for name in sets for part in (f"{name.split('/')[0]} nDCG@10", "recall@10")]
    lines = [_line([*head, "STS", "neighbours kept %", "bytes", "noise"]), "|---" * (len(head) + 4) + "|"]
    for row in table.rows:
        found = row.figures
        judged = [one for name in sets for one in (name, name.replace("/ndcg", "/recall"))]
        lines.append(
            _line(
                [
                    f"`{row.label}`" + (" †" if row.facts.get("Frontier") else "")
                    if row.facts
                    else row.label,
                    row.facts.get("Best attacker", "") + _waiting(row),
                    str(found[F1].n),
                    *(_cell(found.get(name)) for name in (F1, EXACT, KEPT)),
                    *(_cell(found.get(name), interval=False) for name in (*judged, "sts", "neighbours")),
                    row.facts.get("Bytes", ""),
                    row.facts.get("Noise, share of the norm", ""),
                ]
            )
        )
    return lines


def attackers(table: Table) -> list[str]:
    """Every attacker in a column of his own: token F1 and exact match."""
    by_defence: dict[str, dict[str, str]] = {}
    for row in table.rows:
        if row.facts:
            name, _, cannot = row.facts["Attacker"].partition(": cannot")
            by_defence.setdefault(row.label, {})[name] = "cannot" if cannot else _both(row)
    known = [one.title for one in make_trial_attackers(TrialsConfig(), None)]
    names = [name for name in known if any(name in cells for cells in by_defence.values())]
    lines = [_line(["defence", *names]), "|---" * (len(names) + 1) + "|"]
    return [
        *lines,
        *(
            _line([f"`{label}`", *(cells.get(name, "") for name in names)])
            for label, cells in by_defence.items()
        ),
    ]


def _waiting(row: TableRow) -> str:
    missing = row.facts.get("Not attacked yet by")
    return f" (not yet: {missing})" if missing else ""


def _both(row: TableRow) -> str:
    f1, exact = row.figures[F1], row.figures[EXACT]
    return f"{100 * f1.value:.1f} / {100 * exact.value:.1f} ({f1.n})"


def _cell(figure: Figure | None, *, interval: bool = True) -> str:
    if figure is None:
        return ""
    value = f"{100 * figure.value:.1f}"
    if not interval or figure.low is None or figure.high is None:
        return value
    return f"{value} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sts", type=Path, help="The file that the run was given with --sts.")
    parser.add_argument("--against", default=",".join(ATTACKERS), help="Attackers to look at.")
    parser.add_argument("--only", default="", help="Settings to show; all of them without it.")
    parser.add_argument("--show", default="costs,attackers,conclusions", help="Parts to print.")
    parser.add_argument("--page", type=Path, help="Page of which what is between its marks is renewed.")
    parser.add_argument("--mark", default="defences", help="Name of these marks.")
    parser.add_argument("--picture", type=Path, metavar="FOLDER", help="Draw defences.png into this folder.")
    typed = parser.parse_args()
    report = report_of(typed.folder, typed.sts, tuple(typed.against.split(",")), set(split_names(typed.only)))
    parts = {
        "costs": costs(report.tables[0]),
        "attackers": attackers(report.tables[1]),
        "conclusions": [f"- {line}" for line in report.conclusions],
    }
    text = "\n\n".join("\n".join(parts[name]) for name in typed.show.split(","))
    print(text)
    if typed.page is not None:
        renew(typed.page, typed.mark, text)
    if typed.picture is not None:
        [scatter] = report.scatters
        plot_scatter(scatter.model_copy(update={"name": "defences"}), typed.picture, formats=("png",))


if __name__ == "__main__":
    main()
