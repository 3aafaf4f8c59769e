"""How the cost of an inversion grows: with length, vocabulary, vectors and encoder calls.

    python benchmarks/growth.py --plot docs/images/growth.png

Lengths, vocabularies and vectors are measured on the shape of the bundled model with random weights (speed
does not depend on them), 8 passes, length known; encoder calls on the bundled model and encoder, one
sentence, as the processor seconds of a search that may make so many. Seconds are of this machine: what
matters is how the curves bend.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from unembed.compute.precision import choose_precision, computing
from unembed.decode import decode, make_decoder
from unembed.invert_config import InversionOptions
from unembed.inverter import Inverter
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser

SENTENCE = "The committee published its final report on Monday, after two years of hearings."
LENGTHS, VOCABULARIES, VECTORS = (4, 8, 16, 24, 32), (5_000, 10_000, 20_000, 40_000), (1, 4, 16, 64, 256)
CALLS = (50, 100, 200, 400)


def denoiser(vocabulary: int) -> Denoiser:
    torch.manual_seed(0)
    config = DenoiserConfig(
        vector_dim=384, vocabulary=vocabulary, max_length=32, layers=6, length="given", time_input=False,
        block=BlockConfig(hidden=384, heads=12, ffn=1536, norm="post", norm_eps=1e-12), lexical_hidden=512,
    )  # fmt: skip
    return Denoiser(config).eval()


def milliseconds(work: Callable[[], object], repeat: int) -> float:
    work()
    took = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        took.append(1000 * (time.process_time() - began))
    return round(statistics.median(took), 2)


def decoding(model: Denoiser, vectors: int, length: int, repeat: int) -> float:
    e = torch.nn.functional.normalize(torch.randn(vectors, 384), dim=1)
    lengths, seeds = torch.full((vectors,), length), torch.arange(vectors)
    with computing(choose_precision("auto")):
        return milliseconds(
            lambda: decode(model, e, lengths, make_decoder(), InversionOptions(steps=8), seeds=seeds), repeat
        )


def measure(repeat: int) -> dict[str, dict[int, float]]:
    model = denoiser(27_591)
    out = {
        "tokens": {length: decoding(model, 1, length, repeat) for length in LENGTHS},
        "words in the vocabulary": {size: decoding(denoiser(size), 1, 16, repeat) for size in VOCABULARIES},
        "vectors in a batch": {count: decoding(model, count, 16, repeat) for count in VECTORS},
    }
    inverter = Inverter.from_pretrained()
    vector = inverter.encode([SENTENCE])[0]
    out["encoder calls"] = {
        calls: milliseconds(
            lambda calls=calls: inverter.invert(
                vector, strategy="guided", max_encoder_calls=calls, target_cosine=2.0
            ),
            1,
        )
        for calls in CALLS
    }
    return out


def plot(found: dict[str, dict[int, float]], file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(13, 3.2), layout="constrained")
    for axis, (title, values) in zip(axes, found.items(), strict=True):
        axis.plot(list(values), list(values.values()), "o-", color="#2a6f97")
        axis.set_xlabel(title)
        axis.set_ylim(bottom=0)
        axis.set_xlim(left=0)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("processor milliseconds")
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--plot", help="PNG file to write")
    options = parser.parse_args()
    found = measure(options.repeat)
    print(json.dumps({"threads": torch.get_num_threads(), "processor_ms": found}))
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
