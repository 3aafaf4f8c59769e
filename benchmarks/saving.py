"""What decoding's approximations cost: the same vectors exactly, with a KV cache, with shortlists.

    python benchmarks/saving.py --model runs/ten-minutes/best --data data/short
    python benchmarks/saving.py --model MODEL --data DATA --strategies confidence,euler --steps 8

Texts of the test split, their length known, everything masked at first. Each saving stands beside the
exact decoding of the same vectors; the interval is that of the difference in token accuracy, from 1,000
bootstrap resamples of the texts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.data.prepared import PreparedData
from unembed.decode import make_decoder
from unembed.decode.invert_batch import invert_batch
from unembed.evaluation.samples import draw_samples
from unembed.invert_config import InvertConfig
from unembed.metrics.accuracy import token_hits
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.model.checkpoint import load_checkpoint

SAVINGS: dict[str, dict[str, Any]] = {
    "exact": {},
    "KV cache": {"kv_cache": True},
    "shortlist 512": {"shortlist": 512},
    "shortlist 1024": {"shortlist": 1024},
    "KV cache, shortlist 1024": {"kv_cache": True, "shortlist": 1024},
}


def share(truths: Iterable[bool]) -> float:
    return round(float(np.mean(list(truths))), 4)


def interval(hits: NDArray[np.int64], base: NDArray[np.int64], tokens: NDArray[np.int64]) -> list[float]:
    """95 % of the difference in token accuracy, texts resampled. hits, base, tokens: [n]"""
    draws = np.random.default_rng(0).integers(len(hits), size=(1000, len(hits)))  # [1000, n]
    difference = (hits - base)[draws].sum(axis=1) / tokens[draws].sum(axis=1)  # [1000]
    return [round(float(edge), 4) for edge in np.quantile(difference, [0.025, 0.975])]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=500, help="texts [default: %(default)s]")
    parser.add_argument("--strategies", default="confidence", help="[default: %(default)s]")
    parser.add_argument("--steps", type=int, default=8, help="0: the strategy's own [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    checkpoint = load_checkpoint(options.model)
    samples = draw_samples(
        PreparedData.open(options.data),
        "test",
        options.n,
        seed=options.seed,
        tokenizer=checkpoint.tokenizer,
    )
    for name in options.strategies.split(","):
        base: NDArray[np.int64] | None = None
        exact_texts: list[str] = []
        for saving, more in SAVINGS.items():
            config = InvertConfig(steps=options.steps or None, seed=options.seed, **more)
            start = time.process_time()
            found = invert_batch(
                checkpoint, samples.vectors, torch.from_numpy(samples.lengths), make_decoder(name), config
            )
            seconds = time.process_time() - start
            pairs = list(zip(samples.tokens, found, strict=True))
            counts = np.array([token_hits(target, one.tokens) for target, one in pairs])  # [n, 2]
            base = counts[:, 0] if base is None else base
            texts = [one.text for one in found]
            exact_texts = exact_texts or texts
            row = {
                "strategy": name,
                "steps": options.steps or None,
                "n": len(found),
                "decoding": saving,
                "token_accuracy": round(counts[:, 0].sum() / counts[:, 1].sum(), 4),
                "difference_95": interval(counts[:, 0], base, counts[:, 1]),
                "token_f1": round(float(np.mean([token_f1(t, one.tokens) for t, one in pairs])), 4),
                "exact_match": share(map(exact_match, samples.texts, texts)),
                "same_text": share(map(str.__eq__, exact_texts, texts)),
                "cpu_seconds": round(seconds, 1),
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
