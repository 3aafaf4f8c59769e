"""Adapters that ship with the package: fit one for every encoder that can be fetched, and measure it.

    unembed encoders fetch mpnet gte-small e5-small use-multilingual potion multilingual-e5-small
    python recipes/adapters/ship.py --state state --held-out held-out

Run it again after the bundled model has changed: the vectors lie in the state folder, and only fits and
measurements are repeated. HELD_OUT has a file for each kind of text that is measured (KIND.txt, one text a
line). The rows are those of `table.py`: neither measures what the other has. A table goes to stdout.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from embedded import ENCODERS, MOST, held_out_texts
from numpy.typing import NDArray
from table import Table
from table_rows import Run, read_run

from unembed.evaluation.rows import Row
from unembed.metrics.figure import Figure, estimate
from unembed.metrics.registry import make_metrics
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.adapter import Measured, Rate
from unembed.model.card import adapter_card
from unembed.model.parts import CARD
from unembed.model.shipped import SHIPPED

LICENCE = "apache-2.0"


def measured(
    rows: Sequence[Row], held_out: Mapping[str, Sequence[str]], samples: int
) -> tuple[Measured, ...]:
    """What came back of the first texts of each kind from their vectors alone."""
    found = []
    for kind, texts in held_out.items():
        wanted = set(texts[:samples])
        some = [row for row in rows if row.language == kind and row.target in wanted]
        f1, exact = (
            _rate(estimate(metric, _statistics(some, metric.name)))
            for metric in make_metrics(("token_f1", "exact_match"))
        )
        found.append(Measured(texts=kind, n=len(some), token_f1=f1, exact_match=exact))
    return tuple(found)


def _statistics(rows: Sequence[Row], metric: str) -> NDArray[np.float64]:  # [n, k]
    ordered = sorted(rows, key=lambda row: row.sample)
    return np.array([row.statistics[metric] for row in ordered], dtype=np.float64)


def _rate(figure: Figure) -> Rate:
    numbers = (figure.value, figure.low, figure.high)
    return Rate(
        **{name: round(x or 0.0, 4) for name, x in zip(("value", "low", "high"), numbers, strict=True)}
    )


def figures(measured: Sequence[Measured]) -> str:
    """A card's table of what was measured."""
    rows = [
        f"| {one.texts} | {one.n} | {_percent(one.token_f1)} | {_percent(one.exact_match)} |"
        for one in measured
    ]
    head = ["| held-out texts | n | token F1 % | exact match % |", "|---|---|---|---|"]
    words = "From the vector alone, the length unknown, 95 % bootstrap intervals:"
    return "\n".join(["## What comes back", "", words, "", *head, *rows])


def _percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="Folder for vectors, adapters and rows.")
    parser.add_argument("--held-out", type=Path, required=True, help="Folder of KIND.txt.")
    parser.add_argument("--samples", type=int, default=300, help="Of each kind.")
    parser.add_argument("--encoders", default=",".join(ENCODERS))
    parser.add_argument("--sizes", default="", help="Measure with so many pairs as well: 1000,5000")
    parser.add_argument("--minutes", type=float, default=0.0, help="Of fine-tuning, for each fit.")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    args = parser.parse_args()
    held_out = held_out_texts(args.held_out)
    table = Table(args.state, held_out)
    for kind, texts in held_out.items():  # for benchmarks/adapter_maps.py
        table.embedded(table.native).kind(kind, texts)
    header = [
        "encoder",
        "pairs",
        "explained %",
        *(f"{kind} F1 %" for kind in held_out),
        "mean F1 %",
        "exact %",
    ]
    sys.stdout.write(f"| {' | '.join(header)} |\n|{'---|' * len(header)}\n")
    sizes = [int(size) for size in args.sizes.split(",") if size]
    for name in args.encoders.split(","):
        for size in [*sizes, MOST]:
            run = Run(encoder=name, size=size, minutes=args.minutes)
            table.plain([run], args.samples)
            model = table.model(run)
            assert isinstance(model, AdaptedCheckpoint)
            found = measured(read_run(table.folder / run.name)[2], held_out, args.samples)
            f1 = np.mean([one.token_f1.value for one in found])
            exact = np.mean([one.exact_match.value for one in found])
            fit = model.adapter.fit
            cells = [name, f"{fit['pairs']:,}", f"{100 * fit['explained']:.0f}"]
            cells += [_percent(one.token_f1) for one in found]
            sys.stdout.write(f"| {' | '.join(cells)} | {100 * f1:.1f} | {100 * exact:.1f} |\n")
            sys.stdout.flush()
        # The last one, of all pairs, ships.
        config = model.adapter.model_copy(update={"measured": found, "licence": LICENCE})
        folder = args.output / name
        (folder / CARD).unlink(missing_ok=True)
        AdaptedCheckpoint(model.base, config, model.weights).save_pretrained(folder)
        (folder / CARD).write_text(adapter_card(config, figures(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
