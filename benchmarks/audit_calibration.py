"""The calibration that an audit of a store without texts needs: how often a recovered text is right.

    python benchmarks/audit_calibration.py --corpora corpora --benchmarks benchmarks-data --work work \\
        --page docs/audit.md

It is made on texts of several kinds that the split holds out from training (KIND.txt.gz, one a line), and
tested on other kinds: STS-B sentences, claims and Wikipedia sentences of Climate-FEVER, SciFact claims,
sentences with personal data. Prints expected against observed shares, and writes calibration.json into the
model's folder. Whether a vector is of a long text is fitted on sentences that are joined, and tested on
abstracts and articles.

A new model needs a new calibration: the file carries the model's digest, and an audit refuses another one's.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from page_marks import renew
from unembed.audit.attack import attack
from unembed.audit.attack_rows import AttackLog
from unembed.audit.attackers import make_attackers
from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import EncoderFinding, SampleSummary
from unembed.audit.calibration import (
    CALIBRATION_NAME,
    LONG,
    PLAIN,
    WITH_ENCODER,
    AttackerCalibration,
    Calibration,
    Logistic,
    LongTested,
    OtherKind,
    model_digest,
    row_features,
)
from unembed.audit.case import Case, Target
from unembed.audit.figure_text import cell, share
from unembed.audit.likely_words import LikelyWords, words_of
from unembed.audit.long_vectors import length_features
from unembed.audit.shares import mean_figure, share_figure
from unembed.audit.which_encoder import ChosenModel
from unembed.data.normalise import text_key
from unembed.inverter import Inverter
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.storage import settle_plan, write_json
from unembed.text import tokenise

MADE_ON = {
    "short": "en_short.txt.gz",
    "messages": "en_messages.txt.gz",
    **{
        kind: f"en_everyday/{kind}.txt.gz"
        for kind in ("requests", "reviews", "questions", "chat", "social", "titles", "captions", "health")
    },
}
LONGER = ("abstracts (SciFact)", "articles (Climate-FEVER)")
HELD_OUT = 0.01  # the share that `unembed prepare` holds out at each end by default
READ = 40_000  # lines of a file to look for held-out ones in
MOST = 400  # texts of a kind that a run may ask for


def held_out(path: Path, read: int = READ) -> Iterator[str]:
    """Lines that no training run with the default shares has seen."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line, _ in zip(file, range(read), strict=False):
            text = line.strip()
            if text and text_key(text) < HELD_OUT * 2**64:
                yield text


def benchmark_texts(folder: Path) -> dict[str, list[str]]:
    """Kinds of text that nothing here was trained on."""

    def lines(path: Path) -> list[dict[str, str]]:
        plain = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [json.loads(line) for line in plain.decode().splitlines()]

    with (folder / "stsb" / "test.tsv").open(encoding="utf-8") as file:
        pairs = [row[1:] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    climate = folder / "climate-fever-sentences"
    articles: dict[str, str] = {}  # sentences of one article, put together
    for one in lines(climate / "corpus.jsonl.gz"):
        articles[one["title"]] = f"{articles.get(one['title'], '')} {one['text']}".strip()
    return {
        "STS-B": [text for pair in pairs for text in pair],
        "claims (Climate-FEVER)": [one["text"] for one in lines(climate / "queries.jsonl")],
        "Wikipedia (Climate-FEVER)": [one["text"] for one in lines(climate / "corpus.jsonl.gz")],
        "claims (SciFact)": [one["text"] for one in lines(folder / "scifact" / "queries.jsonl")],
        "personal data (Presidio)": [one["text"] for one in lines(folder / "presidio_pii.jsonl")],
        "abstracts (SciFact)": [one["text"] for one in lines(folder / "scifact" / "corpus.jsonl.gz")],
        "articles (Climate-FEVER)": [text for text in articles.values() if len(text.split()) > 60],
    }


class Measured:
    """The first `count` of some texts of one kind, attacked.

    What was done stays in a folder: a stop costs little, and a later run with more texts adds to it.
    """

    def __init__(
        self, inverter: Inverter, kind: list[str], count: int, guided: int, calls: int, folder: Path
    ) -> None:
        tokenizer, texts = inverter.checkpoint.tokenizer, kind[:count]
        vectors = inverter.encode(texts)
        config = AuditConfig(calls=calls, guided_samples=max(1, guided))
        finding = EncoderFinding(name=inverter.encoder.info.name, verdict="given", sure="as given")
        chosen = ChosenModel(
            finding, inverter, inverter, None, inverter.encoder, True, np.ones(len(texts), dtype=bool)
        )
        summary = SampleSummary(
            asked=len(texts), drawn=len(texts), seed=0, with_texts=False, short=len(texts), long=0,
            long_decided_by="texts",
        )  # fmt: skip
        targets = tuple(Target(str(row), vector, None) for row, vector in enumerate(vectors))
        case = Case(config, chosen, None, targets, (), (), summary)
        self.x: dict[str, np.ndarray] = {}
        self.exact: dict[str, np.ndarray] = {}
        self.f1: dict[str, np.ndarray] = {}
        settle_plan(folder, {"kind": "calibration", "texts": kind, "calls": calls})
        with AttackLog(folder) as log:
            for attacker in make_attackers(("vectors", "surrogate", *(("encoder",) if guided else ()))):
                if attacker.obstacle(case) is not None:
                    continue
                attack(attacker, case, log)
                mine = set(attacker.targets(case))
                rows = [row for row in log.of(attacker.name) if row.target in mine]
                found = [row.recovered or "" for row in rows]
                lengths = [len(ids) for ids in tokenise(tokenizer, found)]
                truth = [texts[row.target] for row in rows]
                exact = np.array([float(exact_match(t, r)) for t, r in zip(truth, found, strict=True)])
                ids = zip(tokenise(tokenizer, truth), tokenise(tokenizer, found), strict=True)
                f1 = np.array([token_f1(t, r) for t, r in ids])
                for name, features in ((attacker.name, PLAIN), (f"{attacker.name}+encoder", WITH_ENCODER)):
                    x = row_features(rows, lengths, features)
                    if x is not None and name != "encoder":  # who has the encoder has its cosine
                        self.x[name], self.exact[name], self.f1[name] = x, exact, f1


def short_ones(inverter: Inverter, texts: list[str], count: int, seed: int) -> list[str]:
    random.Random(seed).shuffle(texts)
    lengths = [len(ids) for ids in tokenise(inverter.checkpoint.tokenizer, texts[: 8 * count])]
    fitting = [t for t, length in zip(texts, lengths, strict=False) if 3 <= length <= inverter.max_length]
    return fitting[:count]


def joined(texts: list[str], seed: int) -> list[str]:
    """Sentences of one kind put together to 4 to 14 of them: texts of 60 to 400 tokens."""
    draw, out, rest = random.Random(seed), [], list(texts)
    while len(rest) > 14:
        size = draw.randint(4, 14)
        out.append(" ".join(rest[:size]))
        rest = rest[size:]
    return out


def calibrate(name: str, made: list[Measured], tested: dict[str, Measured]) -> AttackerCalibration:
    """One attacker's maps, and how they do on other kinds."""
    x = np.concatenate([one.x[name] for one in made])
    features = WITH_ENCODER if name.endswith("+encoder") else PLAIN
    exact = Logistic.fit(features, x, np.concatenate([one.exact[name] for one in made]))
    f1 = Logistic.fit(features, x, np.concatenate([one.f1[name] for one in made]))
    results = [
        OtherKind(
            kind=kind,
            n=len(one.x[name]),
            expected_exact=float(exact(one.x[name]).mean()),
            observed_exact=float(one.exact[name].mean()),
            expected_f1=float(f1(one.x[name]).mean()),
            observed_f1=float(one.f1[name].mean()),
        )
        for kind, one in tested.items()
    ]
    return AttackerCalibration(n=len(x), exact=exact, f1=f1, tested=tuple(results))


def shares_table(attackers: dict[str, AttackerCalibration], tested: dict[str, Measured]) -> list[str]:
    """Expected against observed, with the interval of what was observed."""
    lines = [
        "| attacker | kind | n | word for word: expected | observed | F1: expected | observed |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in attackers.items():
        for other in one.tested:
            exact = share_figure(tested[other.kind].exact[name], seed=0)
            f1 = mean_figure(tested[other.kind].f1[name], seed=0)
            lines.append(
                f"| {name} | {other.kind} | {other.n} | {share(other.expected_exact)} | {cell(exact)} | "
                f"{share(other.expected_f1)} | {cell(f1)} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", help="folder of the model; default: the bundled one")
    parser.add_argument(
        "--corpora", type=Path, required=True, help="folder with en_short.txt.gz, en_everyday/KIND.txt.gz"
    )
    parser.add_argument("--benchmarks", type=Path, required=True, help="folder with stsb, scifact, ...")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for what is recovered; resumes there"
    )
    parser.add_argument("--texts", type=int, default=60, help="texts per kind")
    parser.add_argument("--guided", type=int, default=10, help="of these, attacked with the encoder; 0: none")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--page", type=Path, help="page whose table between the marks is renewed")
    parser.add_argument("--print-only", action="store_true", help="write no calibration.json")
    args = parser.parse_args()
    if not 1 <= args.guided <= args.texts <= MOST and args.guided:
        parser.error(f"--guided must not exceed --texts, nor --texts {MOST}")
    inverter = Inverter.from_pretrained(args.model)
    folder, digest = inverter.checkpoint.folder, model_digest(inverter.checkpoint)
    assert folder is not None
    work = args.work / digest[:12]
    tests = benchmark_texts(args.benchmarks)
    longer = {kind: tests.pop(kind) for kind in LONGER}
    every = {kind: list(held_out(args.corpora / path)) for kind, path in MADE_ON.items()}

    def measured(kind: str, texts: list[str]) -> Measured:
        print(f"attacking {kind}", file=sys.stderr, flush=True)
        chosen = short_ones(inverter, texts, MOST, 0)
        safe = "".join(letter if letter.isalnum() else "-" for letter in kind)
        return Measured(inverter, chosen, args.texts, args.guided, args.calls, work / safe)

    made = {kind: measured(kind, texts) for kind, texts in every.items()}
    tested = {kind: measured(kind, texts) for kind, texts in tests.items()}
    names = dict.fromkeys(name for one in made.values() for name in one.x)
    attackers = {name: calibrate(name, list(made.values()), tested) for name in names}

    count = max(1, args.texts // 2)
    short = [text for texts in every.values() for text in short_ones(inverter, list(texts), count, 1)]
    long = [text for texts in every.values() for text in joined(list(texts), 0)[:count]]
    print("attacking long texts", file=sys.stderr, flush=True)
    x = length_features(inverter, inverter.encode([*short, *long]))
    is_long = Logistic.fit(LONG, x, np.array([0.0] * len(short) + [1.0] * len(long)))
    draw = random.Random(0)
    shown = {kind: short_ones(inverter, texts, args.texts, 1) for kind, texts in tests.items()}
    shown |= {kind: draw.sample(texts, args.texts) for kind, texts in longer.items()}
    called = {
        kind: is_long(length_features(inverter, inverter.encode(texts))) > 0.5
        for kind, texts in shown.items()
    }

    chunks = draw.sample(longer[LONGER[0]], 200)
    found = LikelyWords(inverter).read(inverter.encode(chunks), 50)
    right = {
        k: [len(set(some[:k]) & words_of(text)) / k for some, text in zip(found, chunks, strict=True)]
        for k in (10, 50)
    }
    lines = [
        f"Made on {sum(len(one.x['vectors']) for one in made.values())} texts"
        + (
            f", {args.guided * len(made)} of them with the encoder and {args.calls} calls"
            if args.guided
            else ""
        )
        + "; `+encoder` where the encoder's cosine is known too:",
        "",
        *shares_table(attackers, tested),
        "",
        "Taken for long by the vector alone:",
        "",
        "| kind | n | longer than the model writes | taken for long |",
        "|---|---|---|---|",
    ]
    for kind, flags in called.items():
        figure = share_figure(flags.astype(float), seed=0)
        lines.append(f"| {kind} | {len(flags)} | {'yes' if kind in longer else 'no'} | {cell(figure)} |")
    told = ", ".join(f"{cell(mean_figure(some, seed=0))} of the likeliest {k}" for k, some in right.items())
    lines += ["", f"Words read off the vectors of {len(chunks)} abstracts that stand in them: {told}."]
    print("\n".join(lines))

    calibration = Calibration(
        model=digest,
        made_on={kind: len(one.x["vectors"]) for kind, one in made.items()},
        attackers=attackers,
        long=is_long,
        long_tested=tuple(
            LongTested(kind=kind, n=len(flags), long=kind in longer, called_long=float(flags.mean()))
            for kind, flags in called.items()
        ),
        words={str(k): float(np.mean(some)) for k, some in right.items()},
    )
    if not args.print_only:
        write_json(folder / CALIBRATION_NAME, calibration.model_dump(mode="json"))
    if args.page is not None:
        renew(args.page, "audit-calibration", "\n".join(lines))


if __name__ == "__main__":
    main()
