"""The parts of the HTML report, one function each; they render and compute nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from unembed.audit.audit_report import AttackerResult, AuditReport, Piece
from unembed.audit.figure_text import allowances, cell, cost, share
from unembed.audit.html_chart import Bar, bar_chart, measure_bars

_LEGEND = (
    '<p class="legend"><span><i '
    'style="width:1.4rem;height:.8rem;background:var(--bad);border-radius:2px"></i>came back'
    '</span><span><i style="width:1.4rem;height:2px;background:var(--ink);vertical-align:.25em"></i>95 % '
    "interval</span>"
    '<span><i style="width:4px;height:1rem;background:var(--floor)"></i>floors, guessed without the row\'s '
    "vector: with another row's vector, by the nearest other text, by the nearest public sentence</span></p>"
)


def tag(name: str, content: str, css: str = "") -> str:
    """An element; its content is already safe."""
    return f'<{name} class="{css}">{content}</{name}>' if css else f"<{name}>{content}</{name}>"


def table(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: frozenset[int] = frozenset()) -> str:
    """A table of safe cells; `numbers` are the columns that stand to the right."""

    def line(cells: Iterable[str], name: str) -> str:
        return tag(
            "tr",
            "".join(tag(name, one, "n" if column in numbers else "") for column, one in enumerate(cells)),
        )

    body = "".join(line(row, "td") for row in rows)
    return tag("div", tag("table", tag("thead", line(head, "th")) + tag("tbody", body)), "scroll")


def header(report: AuditReport) -> str:
    """The headline, and what was looked at."""
    store = report.store
    badges = []
    if report.status != "complete":
        badges.append(tag("span", "not complete", "badge warn"))
    if report.gate.thresholds or report.gate.baseline:
        passed = report.gate.passed
        badges.append(
            tag("span", "gate passed" if passed else "gate failed", f"badge {'good' if passed else 'bad'}")
        )
    place = store.address if store.collection is None or store.collection in store.address else (
        f"{store.address}, collection {store.collection}"
    )  # fmt: skip
    first, _, rest = report.headline.partition(". ")
    first, lead = (f"{first}.", f"<p class='lead'>{escape(rest)}</p>") if rest else (first, "")
    problem = f'<p class="soft">{escape(report.problem)}</p>' if report.problem else ""
    return tag(
        "header",
        f'<p class="kicker">Embedding leakage audit</p><h1>{escape(first)}</h1>{lead}'
        f'<p class="where">{"".join(badges)}{escape(place)} · {escape(report.created[:10])}</p>{problem}',
    )


def tiles(report: AuditReport) -> str:
    """The store in four numbers."""
    store, sample = report.store, report.sample
    count = "unknown" if store.count is None else f"{store.count:,}"
    known = report.encoder.name or "not known"
    sorted_out = [f"{sample.short:,} attacked"]
    sorted_out += [f"{sample.long:,} too long for that"] if sample.long else []
    sorted_out += [f"{sample.other_encoder:,} of another encoder"] if sample.other_encoder else []
    sorted_out += (
        [f"{sample.without_text + sample.unusable:,} unusable"]
        if sample.without_text + sample.unusable
        else []
    )
    shown = [
        (count, f"rows in the store ({store.kind}, {store.dimension} × {store.dtype})"),
        (f"{sample.drawn:,}", "rows drawn at random: " + ", ".join(sorted_out)),
        (known, f"encoder ({report.encoder.sure})"),
    ]
    if report.personal is not None and report.personal.reason is None:
        shown.append((f"{report.personal.total:,}", "pieces of personal data in the attacked texts"))
    elif not sample.with_texts:
        shown.append(("no texts", "in the store: shares are estimates"))
    return tag(
        "div",
        "".join(tag("div", f"<b>{escape(a)}</b><span>{escape(b)}</span>", "tile") for a, b in shown),
        "tiles",
    )


def overview(report: AuditReport) -> str:
    """Everybody's exact matches, side by side."""
    bars = [
        Bar(one.title, exact.figure, exact.floors, f"n = {exact.figure.n}")
        for one in report.attackers
        if (exact := one.measure("exact")) is not None
    ]
    if len(bars) < 2:
        return ""
    title = "Texts that come back word for word, by attacker"
    return tag("section", f"<h2>{title}</h2>" + tag("div", bar_chart(bars, title), "card"))


def attackers(report: AuditReport) -> str:
    """A card for each."""
    cards = "".join(_attacker(one) for one in report.attackers)
    legend = _LEGEND if any(one.measures for one in report.attackers) else ""
    return tag("section", "<h2>Who gets how much</h2>" + legend + cards)


def _attacker(one: AttackerResult) -> str:
    about = f"<h3>{escape(one.title)}</h3><p class='soft'>With {escape(one.has)}."
    if one.status == "skipped":
        return tag("div", f"{about}</p><p><b>Skipped.</b> {escape(one.reason or '')}</p>", "card skipped")
    paid = cost(one.encoder_calls, one.attacked, one.dollars, one.seconds_per_vector)
    about += f" Cost: {escape(paid)}. n = {one.n}.</p>"
    if one.status == "interrupted":
        about += (
            f"<p><span class='badge warn'>{one.n} of {one.wanted} rows</span>{escape(one.reason or '')}</p>"
        )
    if one.measures:
        about += bar_chart(measure_bars(one.measures), f"What came back: {one.title}")
    if one.estimate is not None:
        about += _estimate(one)
    return tag("div", about, "card")


def _estimate(one: AttackerResult) -> str:
    found = one.estimate
    assert found is not None
    bars = []
    if found.exact is not None:
        bars.append(Bar("Word for word (estimate)", found.exact))
    if found.f1 is not None:
        bars.append(Bar("Words in common (estimate)", found.f1))
    near = ""
    if found.cosine is not None:
        near = f"<p>The texts, embedded again: cosine {found.cosine.value:.3f} to the store's vectors.</p>"
    chart = bar_chart(bars, f"Estimates: {one.title}") if bars else ""
    return f"{chart}{near}<p class='soft'>Basis: {escape(found.basis)}.</p>"


def personal(report: AuditReport) -> str:
    """Personal data by kind, a column per attacker."""
    found = report.personal
    if found is None:
        return ""
    title = "<h2>Personal data</h2>"
    if found.reason is not None:
        return tag(
            "section",
            title + tag("div", f"<p><b>Not looked for.</b> {escape(found.reason)}</p>", "card skipped"),
        )
    who = [one for one in report.attackers if one.personal]
    if not who:
        return tag("section", title + tag("div", "<p>None was found in the attacked texts.</p>", "card"))
    rows = []
    for kind in found.kinds:
        cells = [escape(kind)]
        for one in who:
            mine = next((some for some in one.personal if some.kind == kind), None)
            if mine is None:
                cells.append("")
                continue
            text = f"{mine.found} of {mine.total}"
            if mine.found:
                text += f" ({share(mine.figure.value)})"
            hot = mine.leaked.low is not None and mine.leaked.low > 0
            extra = [f"{mine.part} in part"] if mine.part else []
            extra += [f"{mine.guessed:g} by a floor"] if mine.guessed else []
            note = f"<br><small>{', '.join(extra)}</small>" if extra else ""
            cells.append((tag("span", text, "hot") if hot else text) + note)
        rows.append(cells)
    note = (
        f"<p class='soft'>Pieces that came back whole; red where the 95 % interval of what leaked is above "
        f"zero. Attackers "
        f"with another n were given other rows. Found by {escape(found.detector)}.</p>"
    )
    heads = ["kind", *(f"{escape(one.title)} (n&nbsp;=&nbsp;{one.n})" for one in who)]
    return tag("section", title + tag("div", table(heads, rows) + note, "card"))


def examples(report: AuditReport) -> str:
    """Some rows, best to worst."""
    if not report.examples:
        return ""
    who = next((one.title for one in report.attackers if one.name == report.examples[0].attacker), "")
    shown = []
    for one in report.examples:
        verdict = "word for word" if one.exact else f"F1 {share(one.f1)}"
        shown.append(
            f"<dl class='example'><dt>original</dt><dd>{_pieces(one.original)}</dd>"
            f"<dt>recovered</dt><dd>{_pieces(one.recovered)}</dd>"
            f"<dt></dt><dd><small>row {escape(one.row)} · {verdict}</small></dd></dl>"
        )
    how = "" if report.shows_texts else " Words are blacked out; only common ones are shown."
    note = (
        f"<p class='soft'>{escape(who)}. Rows chosen evenly from the best to the worst, not picked.{how} "
        f"Red: the word stands "
        "in both texts.</p>"
    )
    return tag("section", "<h2>Examples</h2>" + tag("div", note + "".join(shown), "card"))


def _pieces(pieces: tuple[Piece, ...]) -> str:
    out = []
    for one in pieces:
        css = "same" if one.same else ""
        if one.text is None:
            out.append(tag("span", "x" * one.width, f"block {css}".strip()))
        else:
            out.append(tag("span", escape(one.text), css) if css else escape(one.text))
    return "".join(out)


def defences(report: AuditReport) -> str:
    """What would help, where it was measured."""
    if report.defences is None:
        return ""
    rows = [
        (escape(one.name), escape(one.setting), cell(one.leakage), cell(one.neighbours_kept))
        for one in report.defences.rows
    ]
    body = f"<p>{escape(report.defences.note)}</p>"
    body += table(("defence", "setting", "leakage left", "neighbours kept"), rows) if rows else ""
    return tag("section", "<h2>What would help</h2>" + tag("div", body, "card"))


def gate(report: AuditReport) -> str:
    """Thresholds, and what exceeds them."""
    found = report.gate
    if not found.thresholds and found.baseline is None:
        return ""
    allowed = allowances(found)
    badge, verdict = ("good", "passed") if found.passed else ("bad", "failed")
    text = f"<p><span class='badge {badge}'>{verdict}</span>"
    text += escape(allowed) + (f" Compared with {escape(found.baseline)}." if found.baseline else "") + "</p>"
    text += (
        tag("ul", "".join(tag("li", escape(one.says)) for one in found.findings)) if found.findings else ""
    )
    return tag("section", "<h2>Gate</h2>" + tag("div", text, "card"))
