"""Other ways to write a text: one change of its form, or of the mark at its end, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import Entries
from unembed.search.search_state import SearchState
from unembed.search.written_form import USUAL, Case, Form, Spacing, Unit, Writer, capital, join, same_tokens

FORM = "form"  # `made_by` of these texts
ENDS = {".": 0.1, "!": 0.1, "?": 0.1}  # marks at the end of a text, and how likely each is instead of another
NO_END = 0.1
# How likely a whole text is written by another rule, and a word or mark otherwise than counted.
RULES: dict[Case, float] = {"sentence": 0.3, "lower": 0.05, "words": 0.02, "title": 0.03, "upper": 0.03}
QUOTED, CAPITAL, UPPER, UNLIKELY_LOWER = 0.3, 0.01, 0.003, 0.01
LIKELY, CLOSE, STALE = 0.02, 0.9, 1  # the least likelihood, the cosine and the rounds that lift it
UNSURE_MARKS = "'\"-–—/‘’“”"
UNSURE_SPACING, SURE_SPACING = 0.03, 0.005
OPENING = frozenset("\"'“‘:;-–—(…")  # a word behind one of them may begin a sentence


class Variant(NamedTuple):
    """A text that differs in one way."""

    likelihood: float
    entries: Entries
    form: Form
    text: str


class FormVariants:
    """Finds the variants of texts."""

    def __init__(self, checkpoint: Checkpoint, writer: Writer) -> None:
        self._checkpoint, self._writer = checkpoint, writer
        self._ends = _end_entries(checkpoint)

    def untried(self, state: SearchState) -> list[Variant]:
        """What is worth a call: the beam's texts written as the nearest one is, then its own variants.

        Each rule for whole texts is tried early, once: the right one tells more than any word. Other unlikely
        variants wait until a text is close, or nothing else comes nearer.
        """
        best = state.best
        if best is None:
            return []
        least = LIKELY if best.cosine < CLOSE and state.stale < STALE else 0.0
        rules = {"sentence", *(one.form.case for one in state.tried.values() if one.form is not None)}
        alike = self._alike([one.entries for one in state.beam], best.form)
        of_best = self.of(best.entries, best.form)
        new_rules = [one for one in of_best if one.form.case not in rules]
        likely = [one for one in of_best if one.likelihood >= least]
        found = {one.text: one for one in [*alike, *new_rules, *likely]}
        return [one for text, one in found.items() if text not in state.tried]

    def of(self, entries: Entries, form: Form | None) -> list[Variant]:
        """All ways to write these entries that differ from this form in one way; likeliest first."""
        form = form or USUAL
        [plain] = self._checkpoint.texts([entries])
        units = self._writer.units(plain, form)
        forms = [*_marks(units, form)]
        if self._writer.cased:
            forms += [*self._words(units, form), *_rules(form)]
        ends = list(self._endings(entries))
        out = self._alike([ended for _, ended in ends], form, [likelihood for likelihood, _ in ends])
        written = {join(units)}
        for likelihood, other in sorted(forms, key=lambda one: -one[0]):
            text = self._writer.write(plain, other)
            if text not in written:
                written.add(text)
                out.append(Variant(likelihood, entries, other, text))
        return sorted(out, key=lambda one: -one.likelihood)

    def _alike(
        self, several: Sequence[Entries], form: Form | None, likelihoods: Sequence[float] | None = None
    ) -> list[Variant]:
        """Texts in one form."""
        texts = self._checkpoint.texts(several)
        return [
            Variant(likelihood, entries, form or USUAL, self._writer.write(plain, form))
            for entries, plain, likelihood in zip(
                several, texts, likelihoods or [1.0] * len(texts), strict=True
            )
        ]

    def _words(self, units: Sequence[Unit], form: Form) -> Iterator[tuple[float, Form]]:
        """One word otherwise."""
        before = ""
        for unit in units:
            if unit.text[0].isalpha():
                quoted = QUOTED if before in OPENING and not unit.starts else CAPITAL
                ways = {
                    capital(unit.text): 1.0 if unit.starts else quoted,
                    unit.text: UNLIKELY_LOWER,
                    same_tokens(unit.text.upper(), unit.text): UPPER,
                }
                for written, share in self._writer.casing.forms(unit.text):
                    ways[written] = max(ways.get(written, 0.0), share * (0.1 if unit.starts else 1.0))
                for written, share in ways.items():
                    if written != unit.written:
                        yield share, form.with_word(unit.text, unit.occurrence, written)
            before = unit.text

    def _endings(self, entries: Entries) -> Iterator[tuple[float, Entries]]:
        """Another mark at the end, or none."""
        last = entries[-1] if entries else None
        bare = entries[:-1] if last in self._ends.values() else entries
        if bare != entries and bare:
            yield NO_END, bare
        for mark, entry in self._ends.items():
            if entry != last:
                yield ENDS[mark], (*bare, entry)


def _rules(form: Form) -> Iterator[tuple[float, Form]]:
    for case, likelihood in RULES.items():
        if case != form.case:
            yield likelihood, form.with_case(case)


def _marks(units: Sequence[Unit], form: Form) -> Iterator[tuple[float, Form]]:
    """One mark with other spaces."""
    spacings: tuple[Spacing, ...] = ("glued", "left", "right", "apart")
    for unit in units:
        if unit.is_mark:
            likelihood = UNSURE_SPACING if unit.text in UNSURE_MARKS else SURE_SPACING
            for spacing in spacings:
                yield likelihood, form.with_mark(unit.text, unit.occurrence, spacing)


def _end_entries(checkpoint: Checkpoint) -> dict[str, int]:
    """The entries of the marks that may end a text, as far as the model has them."""
    out = {}
    for entry, token in enumerate(checkpoint.vocabulary.token_ids.tolist()):
        if token >= 0 and (mark := checkpoint.tokenizer.id_to_token(token)) in ENDS:
            out[mark] = entry
    return out
