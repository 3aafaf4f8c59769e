"""The report's own sentences: the headline, methods, limits, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.audit.audit_report import AttackerResult, Completion, Identifier, LongChunks
from unembed.audit.case import Case
from unembed.audit.figure_text import share
from unembed.metrics.figure import Figure

IDENTIFIERS = (
    Identifier(
        id="OWASP LLM09:2026",
        title="Vector and embedding weaknesses",
        url="https://genai.owasp.org/llm-top-10/",
    ),
    Identifier(
        id="OWASP AISVS 1.0 8.4.1",
        title="Leakage targets for embeddings: defined, measured, gated by regression tests",
        url="https://owasp.org/www-project-artificial-intelligence-security-verification-standard-aisvs-docs/",
    ),
    Identifier(
        id="OWASP AISVS 1.0 8.1.5",
        title="Canaries in vector stores",
        url="https://owasp.org/www-project-artificial-intelligence-security-verification-standard-aisvs-docs/",
    ),
    Identifier(
        id="MITRE ATLAS AML.T0024.001",
        title="Exfiltration via AI inference API: invert AI model",
        url="https://atlas.mitre.org/techniques/AML.T0024.001",
    ),
)
_WHO = {
    "vectors": "somebody who has nothing but the vectors",
    "surrogate": "somebody who has the vectors and a surrogate of the encoder",
    "encoder": "somebody who has the vectors and the encoder",
    "pairs": "somebody who has the vectors and some of the texts",
}


def headline(
    attackers: Sequence[AttackerResult], long: LongChunks | None, completions: Sequence[Completion] = ()
) -> str:
    """What a manager reads first: the worst that was measured."""
    measured = [one for one in attackers if one.measure("exact") is not None]
    if measured:
        worst = max(measured, key=_harm)
        return _measured_sentence(worst) + _canary_sentence(attackers)
    estimated = [one for one in attackers if one.estimate is not None and one.estimate.exact is not None]
    if estimated:
        worst = max(estimated, key=lambda one: one.estimate.exact.value)  # type: ignore[union-attr]
        assert worst.estimate is not None
        assert worst.estimate.exact is not None
        figure = worst.estimate.exact
        return (
            f"Of {worst.n} attacked vectors, about {share(figure.value)} ({share(figure.low or 0)} to "
            f"{share(figure.high or 0)}) give their text away word for word to {_WHO[worst.name]}: an "
            "estimate, since the store has no texts to compare with."
        )
    short = next((one for one in completions if not one.long), None)
    if short is not None:
        words = next(one for one in short.measures if one.name == "words")
        return (
            "Who knows how a text begins, and has its vector, completes it: of the telling words that he "
            f"adds, {share(words.figure.value)} stand in the text; {share(words.floors[0].figure.value)} "
            f"with another row's vector ({short.n} texts)."
        )
    if long is not None and long.words:
        ten = long.words[0]
        return (
            f"{long.n:,} sampled texts are longer than the model writes. Of the ten likeliest words that are "
            f"read off a vector, {share(ten.precision.value)} stand in its text"
            + (f"; {share(ten.floor_precision.value)} could be guessed." if ten.floor_precision else ".")
        )
    if any(one.n for one in attackers):
        return "Texts were recovered, but there is nothing to compare them with: no claim is made."
    return "Nothing could be measured here: no attacker was possible."


def _harm(one: AttackerResult) -> tuple[float, float]:
    exact, f1 = one.measure("exact"), one.measure("f1")
    return (exact.leaked.value if exact else 0.0, f1.leaked.value if f1 else 0.0)


def _measured_sentence(one: AttackerResult) -> str:
    exact, f1, pii = (one.measure(name) for name in ("exact", "f1", "pii"))
    assert exact is not None
    who, total = _WHO[one.name], exact.total or 0
    if exact.found:
        text = f"Of {total:,} attacked texts, {share(exact.figure.value)}{_from_to(exact.figure)} come back "
        text += f"word for word to {who}"
    else:
        text = f"None of {total:,} attacked texts comes back word for word to {who}"
    if pii is not None and pii.total:
        text += f"; of {pii.total:,} pieces of personal data {pii.found:,} do"
    text += "."
    if f1 is not None and exact.figure.value < 0.5:
        text += f" On average {share(f1.figure.value)} of the words are right"
        guessed = max((floor.figure.value for floor in f1.floors), default=None)
        text += "." if guessed is None else f"; {share(guessed)} could be guessed."
    return text


def _from_to(figure: Figure) -> str:
    """The interval, in words."""
    if figure.low is None or figure.high is None:
        return ""
    return f" (95 % interval: {100 * figure.low:.0f} to {100 * figure.high:.0f} %)"


def _canary_sentence(attackers: Sequence[AttackerResult]) -> str:
    found = [one for result in attackers if (one := result.measure("canary")) is not None]
    if not found:
        return ""
    worst = max(found, key=lambda one: one.figure.value)
    return f" Of {worst.total} planted secrets, {worst.found} came back."


def methods(case: Case) -> tuple[str, ...]:
    """How it was measured."""
    out = [
        "Rows were drawn at random by a seeded hash of their ids; the same seed draws the same rows.",
        "Word for word: equal but for case, white space and punctuation at the edges. Token F1: the share "
        "of words that two texts have in common, whatever their order.",
        "Intervals are 95 % bootstrap intervals over rows; where nothing or everything came back, the "
        "exact bound.",
        "Floors: the same attacker given another row's vector, the nearest other text of the collection, "
        "and, where the encoder is at hand, the nearest of some thousand public sentences. Only what lies "
        "above the highest floor counts as leaked.",
    ]
    if case.with_texts:
        out.append(
            "Personal data: a number, an address or an id counts when all of its letters and digits came "
            "back, a name when all of its words did."
        )
    else:
        out.append(
            "The store has no texts. How many recovered texts are right is estimated from the model's "
            "score and from cosines, by a calibration that ships with the model."
        )
    return tuple(out)


def limits(case: Case, misses: str | None, canaries: int = 0) -> tuple[str, ...]:
    """What it cannot tell."""
    out = [
        "An attacker with a better model, more time or more calls gets more: these are lower bounds of "
        "what the vectors hold.",
        f"The model writes texts of up to {case.chosen.base.max_length} tokens; longer ones are reported as "
        "words.",
    ]
    if misses:
        out.append(misses)
    if case.summary.other_encoder:
        out.append(
            f"{case.summary.other_encoder} sampled rows do not fit their texts under this encoder; they "
            "were left out."
        )
    if case.chosen.finding.preparation is not None:
        out.append(
            f"Texts were changed before they were embedded ({case.chosen.finding.preparation}). Attackers "
            "recover that too, so that exact matches are missed."
        )
    if canaries > len(case.canaries):
        out.append(
            f"{canaries - len(case.canaries)} of {canaries} canaries were not found among the store's texts."
        )
    if not case.chosen.texts_fit:
        out.append("The texts in the store are not those that its vectors were made of; they were not used.")
    return tuple(out)


def next_steps(case: Case, attackers: Sequence[AttackerResult]) -> tuple[str, ...]:
    """What to do with the result."""
    leaking = [
        one for one in attackers for m in one.measures if m.leaked.low is not None and m.leaked.low > 0.01
    ]
    out = []
    if leaking or case.long:
        out += [
            "Treat the vectors like the texts: the same access rights, encryption at rest, retention and "
            "deletion.",
            "Do not hand out raw vectors: no API, export or log should return them where ids and scores "
            "are enough.",
            "Leave out or mask personal data before embedding, where search does not need it.",
        ]
    if case.chosen.reason is not None:
        out.append(case.chosen.reason)
    out += [
        "Keep this report, and run the audit again in CI with --baseline report.json and --fail-over.",
        "Plant canaries (unembed canary) and audit with --canaries: their secrets cannot be guessed.",
    ]
    return tuple(out)
