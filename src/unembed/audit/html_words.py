"""The HTML report's parts on what is read without writing a whole text: words of long ones, and rests."""

from __future__ import annotations

from html import escape

from unembed.audit.audit_report import AuditReport, Floor
from unembed.audit.figure_text import cell, leaked
from unembed.audit.html_chart import Bar, bar_chart, measure_bars
from unembed.audit.html_parts import table, tag
from unembed.metrics.figure import Figure


def long_texts(report: AuditReport) -> str:
    """Words that are read off the vectors of long texts."""
    long = report.long_chunks
    if long is None:
        return ""
    median = f", half of them longer than {long.median_tokens:,} tokens" if long.median_tokens else ""
    which = f"{long.n:,} sampled rows{median}" if long.n > 1 else "One sampled row"
    text = f"<p>{which}. {escape(long.note)}</p>"
    if long.words:
        bars = [
            Bar(
                f"Right, of the likeliest {one.k} words",
                one.precision,
                [] if one.floor_precision is None else [_commonest(one.floor_precision)],
                "" if one.leaked is None else leaked(one.leaked),
            )
            for one in long.words
        ]
        text += bar_chart(bars, "Words read off the vectors of long texts")
        text += "<p class='legend'>Grey mark: as many of the collection's commonest words.</p>"
        rows = [
            (str(one.k), cell(one.precision), cell(one.recall), cell(one.floor_recall)) for one in long.words
        ]
        text += table(
            ("likeliest words", "right", "of the text's own words", "commonest words: of its own"), rows
        )
    if long.names:
        text += f"<p>{long.names_found} of {long.names} names in these texts are among the 50 words.</p>"
    return tag("section", "<h2>Long texts</h2>" + tag("div", text, "card"))


def _commonest(figure: Figure) -> Floor:
    return Floor(name="nearest", label="The collection's commonest words", figure=figure)


def completions(report: AuditReport) -> str:
    """What who knows a beginning gets of the rest."""
    if not report.completions:
        return ""
    cards = []
    for one in report.completions:
        which = "Texts longer than the model writes" if one.long else "Texts that the model writes"
        about = f"{one.n} of them; given: the first {one.given:g} words, on average."
        about += " What is compared is the next words, as many as the model has room for." if one.long else ""
        chart = bar_chart(measure_bars(one.measures), f"Known beginnings: {which}")
        cards.append(tag("div", f"<h3>{which}</h3><p class='soft'>{about}</p>{chart}", "card"))
    lead = (
        "<p>Somebody knows the first words of a text, and has its vector. All figures are of the rest alone; "
        "the floor is the same beginning with another row's vector.</p>"
    )
    return tag("section", "<h2>Who knows how a text begins</h2>" + lead + "".join(cards))
