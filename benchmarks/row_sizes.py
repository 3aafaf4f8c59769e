"""What few different numbers of rows save: a search's batches are of another size each time.

    python benchmarks/row_sizes.py

Draws so many numbers of rows and makes a product with each: as they are, and filled up to known sizes
(compute/row_sizes.py). Each way has numbers of its own and begins without any kernel; both are timed in turn,
in processor time. The ratio is of the whole, the kernels that are written included.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from unembed.compute import kernels, packed_linear
from unembed.compute.kernels import KERNELS
from unembed.compute.packed_linear import PackedLinear
from unembed.compute.precision import Processor
from unembed.compute.row_sizes import in_known_sizes

WIDTH, WIDER = 384, 1536
FEWEST, MOST = 60, 2500  # rows
TURNS = 20


def as_they_are(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    return x.to(dtype or x.dtype)


def decoding(rows: int, kernel: kernels.Packed) -> None:
    with torch.inference_mode():
        kernel.product(torch.ones(rows, WIDTH), None)


def training(rows: int, layer: PackedLinear) -> None:
    x = torch.ones(rows, WIDTH, dtype=torch.bfloat16, requires_grad=True)
    layer(x).sum().backward()


def measured(work: Callable[[int], None], numbers: np.ndarray) -> dict[str, float]:
    """Processor seconds of both ways; a turn is a part of the numbers, first the one way, then the other."""
    spent: dict[str, list[float]] = {"as they are": [], "known sizes": []}
    ways = {"as they are": as_they_are, "known sizes": in_known_sizes}
    for turn in np.array_split(numbers, 2 * TURNS):
        way = "as they are" if len(spent["as they are"]) == len(spent["known sizes"]) else "known sizes"
        kernels.in_known_sizes = packed_linear.in_known_sizes = ways[way]  # type: ignore[attr-defined]
        began = time.process_time()
        for rows in turn:
            work(int(rows))
        spent[way].append(time.process_time() - began)
    before, after = (np.array(spent[way]) for way in spent)
    drawn = np.random.default_rng(0).integers(TURNS, size=(2000, TURNS))
    ratios = before[drawn].sum(axis=1) / after[drawn].sum(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return {
        "ratio": round(float(before.sum() / after.sum()), 2),
        "low": round(float(low), 2),
        "high": round(float(high), 2),
        "known_sizes_ms": round(1e3 * float(after.sum()) / (len(numbers) / 2), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--products", type=int, default=800)
    args = parser.parse_args()
    torch.set_num_threads(1)
    numbers = np.random.default_rng(0).permutation(np.arange(FEWEST, MOST))[: args.products]
    layer = PackedLinear(WIDTH, WIDER)
    cases: dict[str, Callable[[int], None]] = {}
    for precision in ("bf16", "int8") if Processor.here().bf16 else ("int8",):
        kernel = KERNELS[precision].pack(layer.weight.detach())
        cases[f"decoding, {precision}"] = lambda rows, kernel=kernel: decoding(rows, kernel)
    if Processor.here().bf16:
        learning = PackedLinear(WIDTH, WIDER).to(torch.bfloat16)
        cases["training, bf16"] = lambda rows: training(rows, learning)
    print(json.dumps({"processor": vars(Processor.here()), "products": len(numbers)}))
    for name, work in cases.items():
        print(json.dumps({"case": name, **measured(work, numbers)}), flush=True)


if __name__ == "__main__":
    main()
