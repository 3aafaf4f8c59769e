"""What the processor can do: matrix products of our shapes in each precision, as shares of its peak.

    python benchmarks/kernels.py
    ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 python benchmarks/kernels.py --json

"plain" is PyTorch's float32 product; the others have packed weights, rounding of the inputs included. The
peak of a precision is what a product of 2,048 x 2,048 x 2,048 reaches with nothing to round. `INT8_PAYS` in
compute/kernels.py was read off the lines of few rows.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from unembed.compute.kernels import KERNELS
from unembed.compute.precision import Precision, Processor

SHAPES = {  # outputs, inputs
    "compact attention": (1152, 384),
    "compact feed-forward up": (1536, 384),
    "compact feed-forward down": (384, 1536),
    "bundled vocabulary": (27_591, 384),
    "paper feed-forward up": (3072, 768),
    "paper vocabulary": (50_257, 768),
}
ROWS = (1, 12, 60, 300, 1500)
LARGE = 2048
MOST = 400_000_000  # outputs times rows beyond which a shape is left out


def seconds(work: Callable[[], object]) -> float:
    """The best of a few: what disturbs only ever adds."""
    work()
    best = float("inf")
    began = time.perf_counter()
    while time.perf_counter() - began < 0.08 or best == float("inf"):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak(precision: Precision) -> float:
    """Operations per second of a large product whose inputs need no rounding."""
    weight = torch.randn(LARGE, LARGE)
    x = torch.randn(LARGE, LARGE)
    packed = KERNELS[precision].pack(weight)
    if precision == "bf16":
        rounded, matrix = x.bfloat16(), weight.bfloat16()
        took = seconds(lambda: F.linear(rounded, matrix))
    elif precision == "int8":
        steps = torch.randint(0, 255, (LARGE, LARGE), dtype=torch.uint8)
        took = seconds(
            lambda: torch.ops.onednn.qlinear_pointwise(
                steps, 1.0, 128, packed.weight, packed.scale, packed.zero, None, 1.0, 0, torch.float32,
                "none", [], "",
            )
        )  # fmt: skip
    else:
        took = seconds(lambda: F.linear(x, weight))
    return 2 * LARGE**3 / took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    processor = Processor.here()
    precisions: list[Precision] = ["fp32", "bf16", "int8"] if processor.bf16 else ["fp32", "int8"]
    with torch.inference_mode():
        peaks = {precision: peak(precision) for precision in precisions}
        told = {name: round(value / 1e9) for name, value in peaks.items()}
        if options.json:
            print(json.dumps({"threads": options.threads, "processor": vars(processor), "peak_gops": told}))
        else:
            print(f"{options.threads} threads, {processor}, peaks in billion operations a second: {told}")
            print(f"{'shape':28}{'rows':>6}{'plain us':>10}" + "".join(f"{p:>20}" for p in precisions))
        for name, (outputs, inputs) in SHAPES.items():
            weight = torch.randn(outputs, inputs)
            packed = {precision: KERNELS[precision].pack(weight) for precision in precisions}
            for rows in ROWS:
                if rows * outputs * inputs > MOST * 40:
                    continue
                x = torch.randn(rows, inputs)
                plain = seconds(lambda x=x, weight=weight: F.linear(x, weight))
                row: dict[str, object] = {"shape": name, "rows": rows, "plain_us": round(1e6 * plain, 1)}
                cells = []
                for precision, kernel in packed.items():
                    took = seconds(lambda x=x, kernel=kernel: kernel.product(x, None))
                    share = 2 * rows * outputs * inputs / took / peaks[precision]
                    row[precision] = {"times_plain": round(plain / took, 2), "share_of_peak": round(share, 3)}
                    cells.append(f"{plain / took:9.2f}x {100 * share:5.0f} %  ")
                if options.json:
                    print(json.dumps(row), flush=True)
                else:
                    print(
                        f"{name:28}{rows:6}{1e6 * plain:10.0f}" + "".join(f"{c:>20}" for c in cells),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
