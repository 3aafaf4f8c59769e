"""The report as Markdown: for a pull request, a ticket, a terminal."""

from __future__ import annotations

from unembed.audit.audit_report import AttackerResult, AuditReport
from unembed.audit.figure_text import allowances, cell, cost, share


def to_markdown(report: AuditReport) -> str:
    """All of the report but the charts."""
    store, sample = report.store, report.sample
    name = f"{store.address}" + (f", {store.collection}" if store.collection else "")
    lines = [f"# Audit of {name}", "", f"**{report.headline}**", ""]
    if report.status != "complete":
        lines += [f"This audit is not complete: {report.problem}", ""]
    known = report.encoder.name or "unknown"
    lines += [
        f"- Store: {store.kind}, {_count(store.count)} rows of {store.dimension} dimensions ({store.dtype})",
        f"- Encoder: {known} ({report.encoder.verdict}; {report.encoder.sure})",
        f"- Sample: {sample.drawn} rows by seed {sample.seed}; {sample.short} attacked, {sample.long} too "
        f"long for that" + (f", {sample.other_encoder} of another encoder" if sample.other_encoder else ""),
        "",
        *_attackers(report),
        *_personal(report),
        *_long(report),
        *_completions(report),
        *_defences(report),
        *_gate(report),
        *_list("How it was measured", report.methods),
        *_list("Limits", report.limits),
        *_list("What to do next", report.next_steps),
        "## Identifiers",
        "",
        *(f"- [{one.id}]({one.url}): {one.title}" for one in report.identifiers),
        "",
        f"Made by unembed {report.unembed} on {report.created}.",
        "",
    ]
    return "\n".join(lines)


def _attackers(report: AuditReport) -> list[str]:
    lines = ["## Attackers", ""]
    measured = [one for one in report.attackers if one.measures]
    if measured:
        lines += [
            "| attacker | n | what | came back | floors | leaked | cost |",
            "|---|---|---|---|---|---|---|",
        ]
        for one in measured:
            for number, measure in enumerate(one.measures):
                floors = ", ".join(f"{floor.name} {cell(floor.figure)}" for floor in measure.floors)
                who, paid = (one.title, _cost(one)) if number == 0 else ("", "")
                lines.append(
                    f"| {who} | {measure.figure.n} | {measure.label} | {cell(measure.figure)} | {floors} | "
                    f"{cell(measure.leaked)} | {paid} |"
                )
        lines.append("")
    for one in report.attackers:
        if one.estimate is not None:
            estimate = one.estimate
            right = f"about {cell(estimate.exact)} right word for word, token F1 {cell(estimate.f1)}; "
            near = (
                f" Cosine of the texts embedded again: {estimate.cosine.value:.3f}."
                if estimate.cosine
                else ""
            )
            said = right if estimate.exact is not None else ""
            lines += [f"- {one.title} ({one.n} vectors): {said}{estimate.basis}.{near}"]
        elif one.status != "measured":
            lines += [f"- {one.title}: {one.status}. {one.reason}"]
    return [*lines, ""]


def _cost(one: AttackerResult) -> str:
    return cost(one.encoder_calls, one.attacked, one.dollars, one.seconds_per_vector)


def _personal(report: AuditReport) -> list[str]:
    if report.personal is None:
        return []
    lines = ["## Personal data", ""]
    if report.personal.reason is not None:
        return [*lines, f"Not looked for: {report.personal.reason}", ""]
    measured = [one for one in report.attackers if one.personal]
    for one in measured:
        lines += [
            f"{one.title}:",
            "",
            "| kind | in the texts | came back | in part | guessed by a floor | leaked |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {kind.kind} | {kind.total} | {kind.found} ({share(kind.figure.value)}) | {kind.part} | "
            f"{kind.guessed:g} | {cell(kind.leaked)} |"
            for kind in one.personal
        ]
        lines.append("")
    return [*lines, f"Found by {report.personal.detector}.", ""]


def _long(report: AuditReport) -> list[str]:
    long = report.long_chunks
    if long is None:
        return []
    lines = ["## Long texts", "", f"{long.n} sampled rows. {long.note}", ""]
    if long.words:
        lines += [
            "| likeliest words | right | of the text's words | the collection's commonest words | leaked |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {one.k} | {cell(one.precision)} | {cell(one.recall)} | {cell(one.floor_precision)} | "
            f"{cell(one.leaked)} |"
            for one in long.words
        ]
        lines.append("")
    if long.names:
        lines += [f"Of {long.names} names in them, {long.names_found} are among the likeliest 50 words.", ""]
    return lines


def _completions(report: AuditReport) -> list[str]:
    if not report.completions:
        return []
    lines = [
        "## Who knows how a text begins",
        "",
        "Figures are of the rest alone; the floor is the same beginning with another row's vector.",
        "",
        "| texts | n | words given | what | came back | floor | leaked |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in report.completions:
        which = "longer than the model writes" if one.long else "that the model writes"
        lines += [
            f"| {which} | {one.n} | {one.given:g} | {measure.label} | {cell(measure.figure)} | "
            f"{cell(measure.floors[0].figure)} | {cell(measure.leaked)} |"
            for measure in one.measures
        ]
    return [*lines, ""]


def _defences(report: AuditReport) -> list[str]:
    if report.defences is None:
        return []
    lines = ["## What would help", "", report.defences.note, ""]
    if report.defences.rows:
        lines += ["| defence | setting | leakage left | neighbours kept |", "|---|---|---|---|"]
        lines += [
            f"| {one.name} | {one.setting} | {cell(one.leakage)} | {cell(one.neighbours_kept)} |"
            for one in report.defences.rows
        ]
        lines.append("")
    return lines


def _gate(report: AuditReport) -> list[str]:
    gate = report.gate
    if not gate.thresholds and gate.baseline is None:
        return []
    limits = allowances(gate)
    lines = ["## Gate", "", f"{'Passed' if gate.passed else 'Failed'}{': ' + limits if limits else ''}.", ""]
    return [*lines, *(f"- {one.says}" for one in gate.findings), ""]


def _list(title: str, lines: tuple[str, ...]) -> list[str]:
    return [f"## {title}", "", *(f"- {line}" for line in lines), ""] if lines else []


def _count(count: int | None) -> str:
    return "an unknown number of" if count is None else f"{count:,}"
