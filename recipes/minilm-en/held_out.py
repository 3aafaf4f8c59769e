"""Texts of kinds that the bundled model is not trained on, to judge it by: a file per kind, one text a line.

    python recipes/minilm-en/held_out.py --raw raw --benchmarks benchmarks -o held-out
    python recipes/minilm-en/held_out.py --raw raw --benchmarks benchmarks --deciding -o dev-kinds

The first set is for measuring what is finished, the second (`--deciding`), of other splits or other sources,
for deciding between two ways: whoever decides by the texts that he is judged by judges himself too well. The
two share no text. `raw` holds copies of public repositories, `benchmarks` files as they are published:

    raw/polyai             github.com/PolyAI-LDN/task-specific-datasets (Banking77, NLU++; CC BY 4.0)
    raw/email-intent       github.com/ParakweetLabs/EmailIntentDataSet (Apache-2.0)
    raw/common-voice       github.com/common-voice/common-voice (CC0)
    raw/natural-questions  github.com/google-research-datasets/natural-questions (NQ-open; CC BY-SA 3.0)
    raw/covidfact          github.com/asaakyan/covidfact (COVID-Fact; only with --deciding)
    benchmarks/stsb        dev.tsv, test.tsv of the STS benchmark: score, sentence, sentence (CC BY-SA 4.0)
    benchmarks/scifact, climate-fever-sentences    queries.jsonl, as BEIR lays them out (SciFact: CC BY 4.0)
    benchmarks/presidio_pii.jsonl                  presidio-research's sentences: text, src (MIT)
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from unembed.data.normalise import text_key

Texts = Callable[[], Iterable[str]]

# One Common Voice text in four is for deciding: it has no split of its own.
SHARE = 4
# No sentences: single words for a benchmark, and what a presenter says.
NO_SENTENCES = frozenset({"singleword-benchmark.txt", "fxvoice-cues.txt"})


def json_lines(file: Path) -> Iterator[dict[str, object]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def banking77(raw: Path, split: str) -> Iterator[str]:
    with (raw / f"polyai/banking_data/{split}.csv").open(encoding="utf-8", newline="") as file:
        yield from (row["text"] for row in csv.DictReader(file))


def nlupp(raw: Path, domain: str) -> Iterator[str]:
    for file in sorted((raw / "polyai/nlupp/data" / domain).glob("fold*.json")):
        yield from (row["text"] for row in json.loads(file.read_text(encoding="utf-8")))


def email_intent(raw: Path, name: str) -> Iterator[str]:
    """Sentences of Enron's mail: `Yes` or `No` (is something intended), a tab, the sentence."""
    file = raw / f"email-intent/src/resources/{name}.txt"
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.partition("\t")[2]
        if "\ufffd" not in text and "ï¿½" not in text:  # letters that were lost before publication
            yield text


def common_voice(raw: Path, deciding: bool) -> Iterator[str]:
    for file in sorted((raw / "common-voice/server/data/en").glob("*.txt")):
        # Wikipedia is a training kind.
        if file.name in NO_SENTENCES or file.name.startswith(("wiki.", "LICENSE")):
            continue
        for text in file.read_text(encoding="utf-8").splitlines():
            if (text_key(text) % SHARE == 0) is deciding:
                yield text


def questions(raw: Path, *names: str) -> Iterator[str]:
    for name in names:
        rows = json_lines(raw / f"natural-questions/nq_open/{name}.jsonl")
        yield from (str(row["question"]) for row in rows)


def sts(benchmarks: Path, split: str) -> Iterator[str]:
    for line in (benchmarks / f"stsb/{split}.tsv").read_text(encoding="utf-8").splitlines():
        yield from line.split("\t")[1:3]


def claims(benchmarks: Path) -> Iterator[str]:
    for name in ("scifact", "climate-fever-sentences"):
        yield from (str(row["text"]) for row in json_lines(benchmarks / name / "queries.jsonl"))


def covid_claims(raw: Path) -> Iterator[str]:
    """Those that people wrote: the refuted ones were made from them by a model."""
    rows = json_lines(raw / "covidfact/COVIDFACT_dataset.jsonl")
    return (str(row["claim"]) for row in rows if row["label"] == "SUPPORTED")


def personal(benchmarks: Path, source: str) -> Iterator[str]:
    rows = json_lines(benchmarks / "presidio_pii.jsonl")
    return (str(row["text"]) for row in rows if row["src"] == source)


def sources(raw: Path, benchmarks: Path) -> dict[str, tuple[Texts, Texts]]:
    """By kind: the texts to measure by, and those to decide by."""
    efficient = ("NQ-open.efficientqa.dev.1.1", "NQ-open.efficientqa.test.1.1")
    return {
        "bank": (lambda: banking77(raw, "test"), lambda: banking77(raw, "train")),
        "hotel": (lambda: nlupp(raw, "hotels"), lambda: nlupp(raw, "banking")),
        "mail": (
            lambda: email_intent(raw, "testSet-qualifiedBatch-fixed"),
            lambda: email_intent(raw, "Ask0729-fixed"),
        ),
        "voice": (lambda: common_voice(raw, False), lambda: common_voice(raw, True)),
        "sts": (lambda: sts(benchmarks, "test"), lambda: sts(benchmarks, "dev")),
        "search": (lambda: questions(raw, "NQ-open.dev"), lambda: questions(raw, *efficient)),
        "claims": (lambda: claims(benchmarks), lambda: covid_claims(raw)),
        "personal": (
            lambda: personal(benchmarks, "synth_dataset_v2.json"),
            lambda: personal(benchmarks, "generated_large.json"),
        ),
    }


def distinct(texts: Iterable[str], seen: set[int]) -> list[str]:
    """Each text once, white space tidied, none that is `seen`; what is taken is then seen too."""
    out = []
    for text in texts:
        tidy = " ".join(text.split())
        key = text_key(tidy)
        if tidy and key not in seen:
            seen.add(key)
            out.append(tidy)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, required=True)
    parser.add_argument("--deciding", action="store_true", help="the other set")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    kinds = sources(options.raw, options.benchmarks)
    seen: set[int] = set()
    measured = {kind: distinct(texts(), seen) for kind, (texts, _) in kinds.items()}
    chosen = measured
    if options.deciding:
        chosen = {kind: distinct(texts(), seen) for kind, (_, texts) in kinds.items()}
    for kind, texts in chosen.items():
        # Each kind has an order of its own: a text more in one does not move the others.
        random.Random(f"{options.seed} {kind}").shuffle(texts)
        (options.output / f"{kind}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        sys.stdout.write(f"{kind}\t{len(texts)}\n")


if __name__ == "__main__":
    main()
