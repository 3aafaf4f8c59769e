"""How well vectors of another encoder can be distinguished from the model's own: the warning's threshold.

    python benchmarks/plausible_range.py --texts sentences.txt.gz
    python benchmarks/plausible_range.py --texts a.txt.gz --foreign b.txt.gz --other mpnet

The first texts stand for the training data: mean and covariance are measured on their vectors. The table
shows the whitened energy (about 1 on the training data) of held-out texts, of texts of other kinds, and of
vectors that are not the encoder's. `warned` is the share of single vectors that would be warned about.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import torch

from unembed.encoders import load_encoder
from unembed.model.condition import Standardise
from unembed.vectors.plausibility import LEAST_ENERGY, MOST_ENERGY, whitened_energy


def lines(path: Path, count: int) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in itertools.islice(file, count)]


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="one text per line, plain or .gz")
    parser.add_argument("--foreign", type=Path, action="append", default=[], help="texts of another kind")
    parser.add_argument("--other", action="append", default=[], help="another encoder, cut to the dimension")
    parser.add_argument("--fit", type=int, default=6000, help="texts to measure on [default: %(default)s]")
    parser.add_argument("--count", type=int, default=200, help="vectors per case [default: %(default)s]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    encoder, rng = load_encoder(device="cpu"), np.random.default_rng(0)
    texts = lines(options.texts, options.fit + options.count)
    known, fresh = np.split(encoder.encode(texts), [options.fit])
    standardise = Standardise(encoder.info.dimension)
    standardise.fit(torch.from_numpy(known))
    few, dimension = texts[options.fit :], encoder.info.dimension

    cases = {"held-out texts": fresh}
    for path in options.foreign:
        cases[f"texts of {path.name}"] = encoder.encode(lines(path, options.count))
    cases["single words"] = encoder.encode(
        sorted({word for text in few for word in text.split()})[: options.count]
    )
    cases["long texts"] = encoder.encode([" ".join(rng.choice(few, 8)) for _ in range(options.count // 4)])
    noise = rng.normal(size=fresh.shape) / np.sqrt(dimension)
    cases["8-bit rounding"] = np.round(fresh * 127) / 127
    cases["noise of 0.1 of the norm"] = fresh + 0.1 * noise
    cases["noise of 0.5 of the norm"] = fresh + 0.5 * noise
    cases["noise as large as the vector"] = fresh + noise
    for name in options.other:
        cases[f"{name}, first {dimension} numbers"] = unit(load_encoder(name).encode(few)[:, :dimension])
    cases["random directions"] = unit(noise)
    cases["dimensions shuffled"] = fresh[:, rng.permutation(dimension)]

    for name, vectors in cases.items():
        energy = whitened_energy(standardise, vectors.astype(np.float32))
        warned = float(((energy > MOST_ENERGY) | (energy < LEAST_ENERGY)).mean())
        row = [round(float(value), 2) for value in np.quantile(energy, [0, 0.5, 1])]
        if options.json:
            keys = ("least", "median", "most")
            print(
                json.dumps(
                    {"case": name, "n": len(energy), **dict(zip(keys, row, strict=True)), "warned": warned}
                )
            )
        else:
            least, median, most = row
            print(f"{name:36} n={len(energy):4}  {least:6} {median:6} {most:6}  warned {warned:.3f}")


if __name__ == "__main__":
    main()
