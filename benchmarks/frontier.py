"""Quality against cost: how good each way of decoding is, and how long it takes, all in one run.

    python benchmarks/frontier.py --data short=data/short --data wiki=data/wiki --many 64 -o frontier.jsonl
    python benchmarks/frontier.py --plot docs/images/frontier.png -o frontier.jsonl
    python benchmarks/frontier.py --data short=data/short --precision fp32,bf16,int8 --ways quality

Every way decodes the same vectors, length unknown, no encoder call. A way is strategy, passes per length,
lengths, hypotheses, what chooses among them, and precision. Each has its token F1 and exact match with their
intervals, and two costs: one text alone, and many in a batch. "before" is what was the default once (five
lengths, one token per pass, float32, the model's own score); times are ratios to it, the median over
repetitions whose order alternates, because a busy machine drifts. `--differences` adds the interval of each
way's difference to the first one, text by text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.data.prepared import PreparedData
from unembed.evaluation.samples import Samples, draw_samples
from unembed.inverter import Inverter
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1

ONE_PER_TOKEN = 32
BEFORE: dict[str, Any] = {
    "steps": ONE_PER_TOKEN, "num_lengths": 5, "hypotheses": 1, "ranking": "score", "precision": "fp32",
    "shortlist": 0, "refine": 0,
}  # fmt: skip


def grid(precision: str) -> dict[str, dict[str, Any]]:
    """Strategies, passes, lengths, hypotheses: by name."""
    ways: dict[str, dict[str, Any]] = {}
    for lengths in (1, 3, 5):
        for steps in (4, 8, 16, ONE_PER_TOKEN):
            name = f"{lengths} lengths, {steps if steps < ONE_PER_TOKEN else 'all'} passes"
            ways[f"{name}, score"] = {"steps": steps, "num_lengths": lengths, "ranking": "score"}
            for hypotheses in (5, 20) if lengths == 5 else (lengths,):
                ways[f"{name}, best of {hypotheses}"] = {
                    "steps": steps, "num_lengths": lengths, "hypotheses": hypotheses, "ranking": "surrogate"
                }  # fmt: skip
    for bound in (0.5, 1.0, 2.0):
        for lengths in (3, 5):
            ways[f"entropy-bound {bound}, {lengths} lengths, best of 5"] = {
                "strategy": "entropy-bound", "options": {"bound": bound}, "num_lengths": lengths,
                "hypotheses": 5, "steps": ONE_PER_TOKEN,
            }  # fmt: skip
    return {name: {**way, "precision": precision, "shortlist": 0, "refine": 0} for name, way in ways.items()}


def qualities(precision: str) -> dict[str, dict[str, Any]]:
    return {name: {"quality": name, "precision": precision} for name in ("fast", "balanced", "best")}


def refinements(precision: str) -> dict[str, dict[str, Any]]:
    """Rounds of the climb by the surrogate, beside the default without one that was before."""
    ways: dict[str, dict[str, Any]] = {"3 lengths, 8 passes": {"steps": 8, "refine": 0}}
    for rounds in (0, 1, 4, 8):
        ways[f"3 lengths, 4 passes, {rounds} rounds"] = {"steps": 4, "refine": rounds}
    ways["3 lengths, 8 passes, 4 rounds"] = {"steps": 8, "refine": 4}
    ways["best"] = {"quality": "best"}
    ways["best of 20, 5 lengths, 16 passes"] = {
        "steps": 16, "num_lengths": 5, "hypotheses": 20, "shortlist": 0, "refine": 0
    }  # fmt: skip
    return {name: {**way, "precision": precision} for name, way in ways.items()}


def interval(values: NDArray[np.float64]) -> list[float]:
    """95 % of the mean, texts resampled."""
    draws = np.random.default_rng(0).integers(len(values), size=(1000, len(values)))
    return [round(float(edge), 4) for edge in np.quantile(values[draws].mean(axis=1), [0.025, 0.975])]


def decode(
    inverter: Inverter, samples: Samples, way: dict[str, Any]
) -> tuple[NDArray[np.float64], float, float]:
    """F1 and exact match of every text [n, 2], the passes per text, and its processor seconds in a batch."""
    began = time.process_time()
    found = inverter.invert(samples.vectors.astype(np.float32), **way)
    took = (time.process_time() - began) / len(samples)
    rows = [
        (token_f1(tokens, one.tokens), float(exact_match(text, one.text)))
        for text, tokens, one in zip(samples.texts, samples.tokens, found, strict=True)
    ]
    return np.array(rows), float(np.mean([one.forward_passes for one in found])), took


def seconds(inverter: Inverter, vectors: NDArray[np.float32], way: dict[str, Any], *, alone: bool) -> float:
    """Per text."""
    began = time.perf_counter()
    if alone:
        for vector in vectors:
            inverter.invert(vector, **way)
    else:
        inverter.invert(vectors, **way)
    return (time.perf_counter() - began) / len(vectors)


def cost(
    inverter: Inverter, vectors: NDArray[np.float32], way: dict[str, Any], repeat: int, *, alone: bool
) -> dict[str, float]:
    """Seconds per text, and how many times as long the old default takes."""
    mine: list[float] = []
    ratios: list[float] = []
    seconds(inverter, vectors[:2], way, alone=alone)  # packs the weights
    for repetition in range(repeat):
        order = (BEFORE, way) if repetition % 2 == 0 else (way, BEFORE)
        took = [seconds(inverter, vectors, one, alone=alone) for one in order]
        before, now = took if repetition % 2 == 0 else took[::-1]
        mine.append(now)
        ratios.append(before / now)
    return {
        "ms": round(1000 * statistics.median(mine), 2),
        "times_as_fast": round(statistics.median(ratios), 2),
    }


def measure(options: argparse.Namespace) -> None:
    inverter = Inverter.from_pretrained(options.model)
    ways: dict[str, dict[str, Any]] = {"before": BEFORE} if options.ways != "refine" else {}
    make = {"grid": grid, "quality": qualities, "refine": refinements}[options.ways]
    for precision in options.precision.split(","):
        chosen = {name: way for name, way in make(precision).items() if options.only in name}
        ways |= {f"{name}, {precision}": way for name, way in chosen.items()}
    with options.output.open("a", encoding="utf-8") as file:
        for given in options.data:
            kind, _, folder = given.partition("=")
            samples = draw_samples(
                PreparedData.open(Path(folder)), options.split, options.samples, seed=options.seed,
                tokenizer=inverter.checkpoint.tokenizer, min_tokens=options.min_tokens,
                max_tokens=options.max_tokens,
            )  # fmt: skip
            first: NDArray[np.float64] | None = None
            for name, way in ways.items():
                values, passes, took = decode(inverter, samples, way)
                first = values if first is None else first
                row: dict[str, Any] = {
                    "kind": kind, "way": name, "n": len(samples), "split": options.split,
                    "threads": torch.get_num_threads(), "passes": round(passes, 1),
                    "processor_ms": round(1000 * took, 1),
                }  # fmt: skip
                for column, metric in enumerate(("token_f1", "exact_match")):
                    row[metric] = round(float(values[:, column].mean()), 4)
                    row[f"{metric}_interval"] = interval(values[:, column])
                    if options.differences:
                        row[f"{metric}_difference"] = interval(values[:, column] - first[:, column])
                for title, count in (("one", options.alone), ("many", options.many)):
                    if count:
                        some = samples.vectors[:count].astype(np.float32)
                        timed = cost(inverter, some, way, options.repeat, alone=title == "one")
                        row |= {f"{title}_{key}": value for key, value in timed.items()}
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(json.dumps(row), flush=True)


def plot(rows: list[dict[str, Any]], file: str) -> None:
    """F1 against processor time, a panel per kind of text; what nothing beats in both is joined."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    figure, axes = pyplot.subplots(
        1, len(kinds), figsize=(6.5 * len(kinds), 4.2), squeeze=False, layout="constrained"
    )
    families = {
        "before": ("what was the default", "*", "#000000"),
        ", score": ("the model's own score chooses", "o", "#8d99ae"),
        "entropy": ("entropy-bound, the surrogate chooses", "^", "#bc6c25"),
        "best of": ("confidence, the surrogate chooses", "o", "#2a6f97"),
    }
    for axis, kind in zip(axes[0], kinds, strict=True):
        mine = [row for row in rows if row["kind"] == kind]
        for sign, (label, marker, colour) in families.items():
            some = [row for row in mine if sign in row["way"] and _family(row["way"], families) == sign]
            low = [row["token_f1"] - row["token_f1_interval"][0] for row in some]
            high = [row["token_f1_interval"][1] - row["token_f1"] for row in some]
            axis.errorbar(
                [row["processor_ms"] for row in some], [row["token_f1"] for row in some], yerr=[low, high],
                fmt=marker, color=colour, label=label, elinewidth=0.5, alpha=0.9,
            )  # fmt: skip
        edge, best = [], -1.0
        for row in sorted(mine, key=lambda row: row["processor_ms"]):
            if row["token_f1"] > best:
                edge, best = [*edge, row], row["token_f1"]
        axis.plot(
            [row["processor_ms"] for row in edge], [row["token_f1"] for row in edge], color="#2a6f97", lw=0.8
        )
        for name, shown in NAMED.items():
            for row in mine:
                if row["way"].startswith(shown):
                    axis.annotate(
                        name,
                        (row["processor_ms"], row["token_f1"]),
                        xytext=(6, -12),
                        textcoords="offset points",
                    )
        axis.set_xscale("log")
        ticks = (15, 30, 60, 125, 250, 500, 1000)
        axis.set_xticks(ticks, map(str, ticks))
        axis.minorticks_off()
        axis.set_xlabel("processor milliseconds per text, in a batch")
        axis.set_ylabel("token F1")
        axis.set_title(f"{kind} texts, n = {mine[0]['n']}")
        axis.grid(alpha=0.25)
    axes[0][0].legend(loc="lower right", fontsize=8)
    figure.savefig(file, dpi=130)


# The ways that the qualities stand for.
NAMED = {
    "fast": "3 lengths, 4 passes, best of 3",
    "balanced": "3 lengths, 8 passes, best of 3",
    "best": "5 lengths, 16 passes, best of 20",
}


def _family(way: str, families: dict[str, Any]) -> str:
    return next(sign for sign in families if sign in way)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="append", default=[], help="KIND=FOLDER; repeat for more")
    parser.add_argument("--model", help="[default: the bundled one]")
    parser.add_argument("--split", default="test")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--min-tokens", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0, help="of the texts")
    parser.add_argument("--ways", choices=["grid", "quality", "refine"], default="grid")
    parser.add_argument("--only", default="", help="ways whose name holds this")
    parser.add_argument("--precision", default="auto", help="with commas between")
    parser.add_argument("--alone", type=int, default=0, help="texts that are timed alone [default: none]")
    parser.add_argument("--many", type=int, default=0, help="texts that are timed in a batch [default: none]")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--differences", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=Path("frontier.jsonl"))
    parser.add_argument("--plot", help="draw the output so far into this PNG file; measures nothing")
    options = parser.parse_args()
    if options.plot:
        plot([json.loads(line) for line in options.output.open(encoding="utf-8")], options.plot)
    else:
        measure(options)


if __name__ == "__main__":
    main()
