"""The worked example of docs/audit.md: 1,000 messages in a Qdrant folder, audited; renews figures and
picture.

    pip install faker==40.54.0
    python benchmarks/audit_example.py --corpora corpora --work /tmp/audit-example --page docs/audit.md \
        --picture docs/images/audit-report.png

The messages: requests that the split holds out from training, sentences with invented personal data from the
recipe's templates, threads of five messages each (longer than the model writes), and planted canaries. What
is printed is the report as Markdown. `--page` replaces what stands in that page between the marks
`audit-example`; `--picture` needs Chromium and Playwright. With `--again` the store is kept and only the
audit is run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from audit_calibration import held_out
from page_marks import renew
from unembed.audit import AuditReport, audit
from unembed.audit.figure_text import cell, cost
from unembed.canaries import make_canaries, write_canaries
from unembed.encoders import load_encoder

RECIPE = Path(__file__).parents[1] / "recipes" / "minilm-en" / "made_texts.py"
REQUESTS, MADE, THREADS, CANARIES = 600, 330, 50, 20
SEED = 7


def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("made_texts", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_texts"] = module
    spec.loader.exec_module(module)
    return module


def messages(corpora: Path) -> list[str]:
    """The texts, in an order that mixes the kinds."""
    draw = random.Random(SEED)
    requests = [
        text
        for text, _ in zip(
            held_out(corpora / "en_everyday" / "requests.txt.gz", read=400_000),
            range(REQUESTS + 5 * THREADS),
            strict=False,
        )
    ]
    templates = recipe()
    details = templates.Details(SEED)
    made = [details.fill(draw.choice(templates.TEMPLATES)) for _ in range(MADE)]
    threads = [" ".join(requests[REQUESTS + 5 * row : REQUESTS + 5 * row + 5]) for row in range(THREADS)]
    texts = [*requests[:REQUESTS], *made, *threads]
    draw.shuffle(texts)
    return texts


def fill(folder: Path, texts: list[str]) -> None:
    """A Qdrant collection as a LangChain user has it: the text under page_content."""
    from qdrant_client import QdrantClient, models

    vectors = load_encoder("minilm").encode(texts)
    client = QdrantClient(path=str(folder))
    client.create_collection(
        "messages", vectors_config=models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
    )
    points = [
        models.PointStruct(id=row, vector=vector.tolist(), payload={"page_content": text})
        for row, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    client.upsert("messages", points)
    client.close()


def figures(report: AuditReport, minutes: float | None = None) -> str:
    """What the page shows."""
    told = report.settings
    took = "" if minutes is None else f"; {minutes:.0f} minutes of one core"
    lines = [
        f"> {report.headline}",
        "",
        f"{report.sample.drawn} of {report.store.count:,} rows, seed {report.sample.seed}: "
        f"{report.sample.short} attacked, {report.sample.long} too long for that{took} (`--samples "
        f"{told['samples']} --guided-samples {told['guided_samples']} --calls {told['calls']}`).",
        "",
        "| attacker | n | word for word | words in common (F1) | personal data | planted secrets | cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in report.attackers:
        cells = []
        for name in ("exact", "f1", "pii", "canary"):
            measure = one.measure(name)
            counted = (
                f" ({measure.found} of {measure.total})" if measure and measure.total and name != "f1" else ""
            )
            cells.append("" if measure is None else f"{cell(measure.figure)}{counted}")
        paid = cost(one.encoder_calls, one.attacked, one.dollars, None)
        lines.append(f"| {one.title} | {one.n} | {' | '.join(cells)} | {paid} |")
    lines += ["", "What leaked, which is what lies above the highest floor:", ""]
    lines += ["| attacker | word for word | words in common (F1) | personal data |", "|---|---|---|---|"]
    for one in report.attackers:
        shown = [
            cell(measure.leaked) if (measure := one.measure(name)) else "" for name in ("exact", "f1", "pii")
        ]
        lines.append(f"| {one.title} | {' | '.join(shown)} |")
    worst = max(report.attackers, key=lambda one: sum(kind.found for kind in one.personal))
    lines += ["", f"Personal data, by kind ({worst.title.lower()}, n = {worst.n}):", ""]
    lines += ["| kind | in the texts | came back | in part | guessed by a floor |", "|---|---|---|---|---|"]
    lines += [f"| {k.kind} | {k.total} | {k.found} | {k.part} | {k.guessed:g} |" for k in worst.personal]
    if report.long_chunks is not None and report.long_chunks.words:
        lines += [
            "",
            f"Of {report.long_chunks.n} threads, half of them longer than "
            f"{report.long_chunks.median_tokens} tokens, words are read off the vectors:",
            "",
        ]
        lines += [
            "| likeliest words | right | of the text's own words | commonest words of the collection: "
            "right |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {one.k} | {cell(one.precision)} | {cell(one.recall)} | {cell(one.floor_precision)} |"
            for one in report.long_chunks.words
        ]
    if report.completions:
        lines += ["", "Who knows how a text begins, and has its vector, gets of the rest:", ""]
        lines += ["| texts | n | words given | what | came back | with another vector | leaked |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for some in report.completions:
            which = "threads" if some.long else "messages"
            lines += [
                f"| {which} | {some.n} | {some.given:g} | {one.label} | {cell(one.figure)} | "
                f"{cell(one.floors[0].figure)} | {cell(one.leaked)} |"
                for one in some.measures
            ]
    if report.defences is not None and report.defences.rows:
        lines += ["", "What would help, by the best of four attackers on 40 of the texts:", ""]
        lines += ["| defence | words in common (F1) | neighbours kept |", "|---|---|---|"]
        lines += [
            f"| {one.setting} | {cell(one.leakage)} | {cell(one.neighbours_kept)} |"
            for one in report.defences.rows
        ]
    return "\n".join(lines)


def picture(report: Path, target: Path) -> None:
    """The top of the report as a PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser: Any = play.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1080, "height": 1500}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.screenshot(path=str(target))
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the store and the report")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--guided-samples", type=int, default=40)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--again", action="store_true", help="keep the store of an earlier run")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.corpora, page, shot = (path and path.resolve() for path in (args.corpora, args.page, args.picture))
    os.chdir(args.work)  # the report shows the store's address: a short one
    store, canaries = Path("store"), Path("canaries.jsonl")
    if not (args.again and store.exists()):
        shutil.rmtree(store, ignore_errors=True)
        made = make_canaries(CANARIES, seed=SEED)
        write_canaries(canaries, made)
        fill(store, [*messages(args.corpora), *(one.text for one in made)])
    began = time.process_time()
    report = audit(
        f"qdrant:{store}#messages", "report", samples=args.samples,
        guided_samples=args.guided_samples, calls=args.calls, canaries=canaries,
        text_field="page_content", quiet=False,
        announce=lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    text = figures(report, (time.process_time() - began) / 60)
    print(text)
    if page is not None:
        renew(page, "audit-example", text)
    if shot is not None:
        picture(Path("report/report.html"), shot)


if __name__ == "__main__":
    main()
