"""How many texts of an evaluation came back as they were written: capitals, spaces and marks included.

    python benchmarks/as_written.py runs/cased-evaluation

`unembed evaluate` counts a text as found whatever its case and the marks at its edges. This reads the same
rows and asks for more. Intervals are 95 % bootstrap intervals over the texts.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

from unembed.evaluation.rows import ROWS_NAME, Row, read_rows
from unembed.metrics.base import Pair
from unembed.metrics.figure import measure
from unembed.metrics.registry import make_metrics

METRICS = make_metrics(("as_written", "ignoring_case", "exact_match"))


def figures(rows: list[Row]) -> dict[str, object]:
    """The shares of one variant, its mean calls and its mean seconds where they were measured."""
    out: dict[str, object] = {"n": len(rows)}
    pairs = [Pair(row.target, row.recovered or "") for row in rows]
    for metric in METRICS:
        found = measure(metric, pairs)
        out[metric.name] = [found.value, found.low, found.high]
    out["calls"] = sum(row.encoder_calls or 0 for row in rows) / len(rows)
    seconds = [row.seconds for row in rows if row.seconds is not None]
    out["seconds"] = sum(seconds) / len(seconds) if seconds else None
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what 'unembed evaluate -o' wrote, finished or not")
    variants: defaultdict[str, list[Row]] = defaultdict(list)
    for row in read_rows(parser.parse_args().folder / ROWS_NAME):
        variants[row.variant].append(row)
    for name, rows in variants.items():
        print(json.dumps({"variant": name, **figures(rows)}))


if __name__ == "__main__":
    main()
