"""What limits an inversion without the encoder: which texts it has to choose from, or how it chooses.

    python benchmarks/ranking.py --data data/dev --max-tokens 16 --samples 160 --hypotheses 1,3,6,12
    python benchmarks/ranking.py --data data/dev --max-tokens 16 --samples 160 --hypotheses 3 --rounds 3,16

N hypotheses are of the N likeliest lengths, and of less likely first words where these are fewer. Token F1
and exact match of the text that the surrogate chooses, and of the best one among them (an oracle's choice);
with `--rounds`, of what a climb from them gives. "nearer" is the share of texts not found whose original
comes nearer by the surrogate than what it chose: where that is nearly all of them, other texts are what is
missing, not another ranking. Intervals are 95 % bootstrap intervals over the texts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from frontier import interval
from unembed.data.prepared import PreparedData
from unembed.decode.result import Inversion
from unembed.decode.surrogate_ranking import surrogate_cosines
from unembed.evaluation.samples import Samples, draw_samples
from unembed.inverter import Inverter
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1


def figures(name: str, values: list[float]) -> dict[str, object]:
    several = np.array(values, dtype=np.float64)
    return {name: round(float(several.mean()), 4), f"{name}_interval": interval(several)}


def f1_and_exact(samples: Samples, found: list[Inversion]) -> tuple[list[float], list[float]]:
    f1 = [token_f1(tokens, one.tokens) for tokens, one in zip(samples.tokens, found, strict=True)]
    exact = [float(exact_match(text, one.text)) for text, one in zip(samples.texts, found, strict=True)]
    return f1, exact


def oracle(samples: Samples, found: list[Inversion]) -> tuple[list[float], list[float]]:
    """The best among all texts of each vector, by each metric."""
    f1, exact = [], []
    for text, tokens, one in zip(samples.texts, samples.tokens, found, strict=True):
        every = [one, *one.alternatives]
        f1.append(max(token_f1(tokens, other.tokens) for other in every))
        exact.append(max(float(exact_match(text, other.text)) for other in every))
    return f1, exact


def nearer(inverter: Inverter, samples: Samples, found: list[Inversion]) -> float:
    """Of the texts that were not found, the share whose original is nearer by the surrogate."""
    chosen = surrogate_cosines(inverter.surrogate, [one.text for one in found], samples.vectors)
    truth = surrogate_cosines(inverter.surrogate, samples.texts, samples.vectors)
    missed = [not exact_match(text, one.text) for text, one in zip(samples.texts, found, strict=True)]
    return float(np.mean([b > a for a, b, miss in zip(chosen, truth, missed, strict=True) if miss]))


def measure(options: argparse.Namespace) -> None:
    inverter = Inverter.from_pretrained(options.model)
    samples = draw_samples(
        PreparedData.open(options.data), options.split, options.samples, seed=options.seed,
        tokenizer=inverter.checkpoint.tokenizer, min_tokens=4, max_tokens=options.max_tokens,
    )  # fmt: skip
    vectors = samples.vectors.astype(np.float32)
    for count in map(int, options.hypotheses.split(",")):
        for rounds in map(int, options.rounds.split(",")):
            found = inverter.invert(
                vectors, num_lengths=count, hypotheses=count, n_best=1 if rounds else count,
                steps=options.steps, refine=rounds, ranking="surrogate",
            )  # fmt: skip
            f1, exact = f1_and_exact(samples, found)
            row = {"n": len(samples), "hypotheses": count, "rounds": rounds}
            row |= {**figures("f1", f1), **figures("exact", exact)}
            if not rounds:
                best_f1, best_exact = oracle(samples, found)
                row |= {**figures("oracle_f1", best_f1), **figures("oracle_exact", best_exact)}
            print(json.dumps({**row, "nearer": round(nearer(inverter, samples, found), 3)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", help="[default: the bundled one]")
    parser.add_argument("--split", default="test")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the texts")
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--hypotheses", default="1,3,6,12", help="with commas between")
    parser.add_argument("--rounds", default="0", help="of the climb, with commas between")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
