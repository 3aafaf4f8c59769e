"""How fast the bundled encoder encodes, beside sentence-transformers, on the same texts in the same run.

    python benchmarks/encoder_speed.py                                made-up sentences
    python benchmarks/encoder_speed.py --texts sentences.txt.gz       your own, one per line
    python benchmarks/encoder_speed.py --json

Repetitions alternate (peak, ours, theirs, peak; then theirs first), because a busy machine drifts; the
figure is the median of the repetitions' ratios. "Share of peak" is our matrix arithmetic per second
over what a big torch.mm reaches on this machine, measured before and after in each repetition.
Where other programs compete for the processor, `--threads 1` and the ratio of processor time
("cpu ratio") are the steadier measure: waiting does not count in it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from unembed.encoders import load_encoder, locations
from unembed.encoders.base import BATCH_TOKENS
from unembed.encoders.bert_encoder import BertEncoder
from unembed.encoders.minilm import MAX_TOKENS, PACKAGE

WORDS = ["the", "of", "time", "people", "water", "words", "long", "very", "good", "house", "year", "green"]


def read_texts(path: Path | None, count: int, seed: int) -> list[str]:
    """`count` lines drawn from the file; without one, sentences of 3 to 20 common words."""
    rng = random.Random(seed)
    if path is None:
        return [" ".join(rng.choices(WORDS, k=rng.randint(3, 20))) + "." for _ in range(count)]
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    return rng.sample(lines, min(count, len(lines)))


class Timing(NamedTuple):
    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def matmul_flops(ours: BertEncoder, texts: list[str]) -> float:
    """Multiply-adds times two in every matrix product that the texts need, attention included."""
    config, tokenizer = ours.bert.config, ours.tokenizer()
    width, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    lengths = np.array([min(MAX_TOKENS, len(one.ids)) for one in tokenizer.encode_batch_fast(texts)], float)
    per_token = layers * 2 * (4 * width * width + 2 * width * inner)
    return float(per_token * lengths.sum() + layers * 4 * width * (lengths**2).sum())


def peak_timing(size: int = 1536) -> Timing:
    """One big float32 matrix product, best of three: seconds for each floating-point operation."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    torch.mm(a, b)
    runs = [timed(lambda: torch.mm(a, b)) for _ in range(3)]
    operations = 2 * size**3
    return Timing(min(run.wall for run in runs) / operations, min(run.cpu for run in runs) / operations)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, help="one text per line, plain or .gz")
    parser.add_argument("--count", type=int, default=2000, help="texts to encode [default: %(default)s]")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions [default: %(default)s]")
    parser.add_argument("--batch-tokens", type=int, default=BATCH_TOKENS, help="ours [default: %(default)s]")
    parser.add_argument("--st-batch", type=int, default=32, help="theirs: batch_size [default: %(default)s]")
    parser.add_argument("--threads", type=int, help="torch's threads [default: all cores]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    if options.threads:
        torch.set_num_threads(options.threads)
    texts = read_texts(options.texts, options.count, options.seed)
    ours = load_encoder("minilm", device="cpu")
    assert isinstance(ours, BertEncoder)
    theirs = SentenceTransformer(str(locations.package_folder(PACKAGE, "model")), device="cpu")

    def run_ours() -> np.ndarray:
        return ours.encode(texts, batch_tokens=options.batch_tokens)

    def run_theirs() -> np.ndarray:
        return theirs.encode(texts, batch_size=options.st_batch, show_progress_bar=False)

    difference = float(np.abs(run_ours() - run_theirs()).max())  # also warms both up
    flops = matmul_flops(ours, texts)
    runs: dict[str, list[Timing]] = {"ours": [], "theirs": [], "peak": []}
    for repetition in range(options.repeat):
        pair = [("ours", run_ours), ("theirs", run_theirs)]
        before = peak_timing()
        for name, run in pair if repetition % 2 == 0 else pair[::-1]:
            runs[name].append(timed(run))
        runs["peak"].append(min(before, peak_timing()))

    def median(numbers: Iterable[float]) -> float:
        return round(statistics.median(numbers), 3)

    both = list(zip(runs["ours"], runs["theirs"], strict=True))
    against_peak = list(zip(runs["ours"], runs["peak"], strict=True))
    ratios = [b.wall / a.wall for a, b in both]
    result = {
        "texts": len(texts),
        "source": options.texts.name if options.texts else "made up",
        "repetitions": options.repeat,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "ours_sentences_per_s": median(len(texts) / run.wall for run in runs["ours"]),
        "sentence_transformers_sentences_per_s": median(len(texts) / run.wall for run in runs["theirs"]),
        "ratio": median(ratios),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "cpu_ratio": median(b.cpu / a.cpu for a, b in both),
        "matmul_peak_gflops": median(1e-9 / run.wall for run in runs["peak"]),
        "share_of_peak": median(flops * p.wall / a.wall for a, p in against_peak),
        "cpu_share_of_peak": median(flops * p.cpu / a.cpu for a, p in against_peak),
        "largest_difference": difference,
    }
    if options.json:
        json.dump(result, sys.stdout)
        print()
        return
    for key, value in result.items():
        print(f"{key.replace('_', ' '):40}{value}")


if __name__ == "__main__":
    main()
