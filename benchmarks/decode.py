"""How fast each strategy decodes, beside the naive loop, on the same vectors in the same run.

    python benchmarks/decode.py                                both shapes, all strategies
    python benchmarks/decode.py --shape paper --strategies confidence,euler --repeat 3
    python benchmarks/decode.py --shape paper --strategies confidence --precision fp32,bf16,int8
    python benchmarks/decode.py --json
    OMP_NUM_THREADS=1 python benchmarks/decode.py --clock cpu     where other work shares the machine

The naive loop is what one writes first: one sequence at a time, the condition computed again in every
step, logits at every position, plain PyTorch layers. It asks the same decoder and gives the same tokens
as exact decoding in float32, which is checked. "saving" is decoding with its two approximations, a KV cache
and a shortlist; what they cost in accuracy is measured by benchmarks/saving.py. The naive loop's
rate does not depend on how many sequences there are, so few are timed. Repetitions alternate the order
(naive, one, many, saving; then backwards), because a busy machine drifts; the ratios are medians over the
repetitions, each of timings that lie next to each other. Weights are random: speed does not depend on them.
"share of peak" is the arithmetic of the matrix products that exact decoding of many needs, per second, over
what a large product reaches in that precision.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from kernels import peak
from unembed.compute.precision import Precision, choose_precision, computing
from unembed.decode import DECODERS, Decoder, State, decode, make_decoder
from unembed.invert_config import InversionOptions
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser

SHAPES = {
    "compact": DenoiserConfig(
        vector_dim=384,
        vocabulary=16_000,
        max_length=16,
        layers=3,
        block=BlockConfig(hidden=384, heads=12, ffn=1536, norm="post", norm_eps=1e-12),
        length="given",
        time_input=False,
        lexical_hidden=512,
    ),
    "paper": DenoiserConfig(vector_dim=768, vocabulary=50_257, max_length=32),
}
LENGTHS = {"compact": 12, "paper": 32}


def build(config: DenoiserConfig) -> Denoiser:
    torch.manual_seed(0)
    denoiser = Denoiser(config).eval()
    with torch.no_grad():  # far enough from zero that positions and vectors differ
        for parameter in denoiser.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return denoiser


@torch.no_grad()
def naive(denoiser: Denoiser, vectors: Tensor, length: int, decoder: Decoder, steps: int | None) -> Tensor:
    """Each vector on its own; every step reads the vector again and computes all logits.  # [B, L]"""
    out = []
    for number, vector in enumerate(vectors):
        state = State(
            tokens=torch.full((1, length), denoiser.config.mask_id),
            log_prob=torch.zeros(1, length),
            lengths=torch.tensor([length]),
            seeds=torch.tensor([number]),
            mask_id=denoiser.config.mask_id,
            steps=torch.tensor([decoder.passes(length, steps)]),
        )
        while bool(state.masked.any()):
            prepared = denoiser.prepare(vector[None], torch.tensor([length]))
            h = denoiser.hidden(state.tokens, decoder.time(state), prepared)  # [1, L, D]
            rows = torch.zeros(length, dtype=torch.long)
            logits = denoiser.logits(h[0], rows, prepared, xt=state.tokens)  # [L, V]
            wanted = decoder.wanted(state)
            state = replace(decoder.step(logits[wanted[0]], wanted, state), step=state.step + 1)
        out.append(state.tokens[0])
    return torch.stack(out)


def ours(
    denoiser: Denoiser,
    vectors: Tensor,
    length: int,
    decoder: Decoder,
    steps: int | None,
    *,
    precision: Precision = "fp32",
    kv_cache: bool = False,
    shortlist: int = 0,
) -> Tensor:
    lengths, seeds = torch.full((len(vectors),), length), torch.arange(len(vectors))
    options = InversionOptions(steps=steps, kv_cache=kv_cache, shortlist=shortlist)
    with computing(precision):
        return decode(denoiser, vectors, lengths, decoder, options, seeds=seeds).tokens


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def rate(work: Callable[[], object], sequences: int, clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return sequences / (clock() - start)


def operations(denoiser: Denoiser, length: int, decoder: Decoder, steps: int | None) -> float:
    """Of the matrix products per sequence, for a decoder that reveals evenly and reads at all masks."""
    config = denoiser.config
    width, passes = config.block.hidden, decoder.passes(length, steps)
    block = 2 * (4 * width * width + 2 * width * config.block.ffn)  # per token
    left = [length - length * done // passes for done in range(passes)]  # masks before each pass
    head = 2 * width * config.vocabulary
    return sum(length * block * config.layers + masks * head for masks in left)


def measure(
    shape: str, name: str, precision: Precision, options: argparse.Namespace, denoiser: Denoiser
) -> dict[str, object]:
    """Sequences per second of one strategy: naive, one by one, many at once; the latter also saving."""
    length, decoder = LENGTHS[shape], make_decoder(name)
    vectors = torch.nn.functional.normalize(
        torch.randn(options.batch, denoiser.config.vector_dim, generator=torch.Generator().manual_seed(1)),
        dim=1,
    )
    few = vectors[: options.few]

    def run_naive() -> Tensor:
        return naive(denoiser, few, length, decoder, options.steps)

    def run(some: Tensor, saving: bool) -> Tensor:
        shortlist = options.shortlist if saving else 0
        return ours(
            denoiser, some, length, decoder, options.steps,
            precision=precision, kv_cache=saving, shortlist=shortlist,
        )  # fmt: skip

    def run_one(saving: bool) -> Tensor:
        return torch.cat([run(one[None], saving) for one in few])

    jobs: dict[str, tuple[Callable[[], Tensor], int]] = {
        "one": (lambda: run_one(False), len(few)),
        "one_saving": (lambda: run_one(True), len(few)),
        "many": (lambda: run(vectors, False), len(vectors)),
        "many_saving": (lambda: run(vectors, True), len(vectors)),
    }
    if decoder.width == 1:  # several hypotheses side by side have no naive form
        jobs = {"naive": (run_naive, len(few)), **jobs}
        first = slice(0, 1)
        lone = naive(denoiser, vectors[first], length, decoder, options.steps)
        assert torch.equal(lone, ours(denoiser, vectors[first], length, decoder, options.steps)), name
    run_one(saving=False), run_one(saving=True)  # warm up
    rates: dict[str, list[float]] = {key: [] for key in jobs}
    for repetition in range(options.repeat):
        order = list(jobs.items()) if repetition % 2 == 0 else list(jobs.items())[::-1]
        for key, (work, sequences) in order:
            rates[key].append(rate(work, sequences, CLOCKS[options.clock]))
    row: dict[str, object] = {
        "shape": shape,
        "strategy": name,
        "precision": precision,
        "passes": decoder.passes(length, options.steps),
    }
    for key, values in rates.items():
        row[f"{key}_per_s"] = round(statistics.median(values), 3)
    if decoder.asks_all:
        needed = operations(denoiser, length, decoder, options.steps) * statistics.median(rates["many"])
        row["many_share_of_peak"] = round(needed / peak(precision), 3)
    if "naive" in rates:
        for key in (key for key in rates if key != "naive"):
            pairs = zip(rates[key], rates["naive"], strict=True)
            row[f"{key}_over_naive"] = round(statistics.median(a / b for a, b in pairs), 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=[*SHAPES, "both"], default="both")
    parser.add_argument("--strategies", default="all", help="names with commas between [default: all]")
    parser.add_argument(
        "--precision", default="auto", help="with commas between: fp32, bf16, int8 [default: %(default)s]"
    )
    parser.add_argument("--steps", type=int, default=8, help="forward passes [default: %(default)s]")
    parser.add_argument("--batch", type=int, default=64, help="the many [default: %(default)s]")
    parser.add_argument(
        "--few", type=int, default=2, help="sequences for one and naive [default: %(default)s]"
    )
    parser.add_argument("--repeat", type=int, default=1, help="repetitions [default: %(default)s]")
    parser.add_argument(
        "--clock", choices=list(CLOCKS), default="wall", help="cpu: processor time [default: %(default)s]"
    )
    parser.add_argument(
        "--shortlist", type=int, default=1024, help="words, where saving [default: %(default)s]"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    machine = {"threads": torch.get_num_threads(), "clock": options.clock}
    names = list(DECODERS) if options.strategies == "all" else options.strategies.split(",")
    ways = ("one", "one_saving", "many", "many_saving")
    columns = ["shape", "strategy", "precision", "passes", "naive_per_s", *(f"{way}_per_s" for way in ways)]
    columns += [*(f"{way}_over_naive" for way in ways), "many_share_of_peak"]
    precisions = [choose_precision(one) for one in options.precision.split(",")]
    if not options.json:
        print(
            f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
            f"{options.clock} clock, many = {options.batch}"
        )
        print("  ".join(f"{column:>22}" for column in columns))
    for shape in SHAPES if options.shape == "both" else [options.shape]:
        denoiser = build(SHAPES[shape])
        for name, precision in itertools.product(names, dict.fromkeys(precisions)):
            row = measure(shape, name, precision, options, denoiser)
            if options.json:
                print(
                    json.dumps({**row, "batch": options.batch, **machine}),
                    flush=True,
                )
            else:
                print("  ".join(f"{row.get(column, '-')!s:>22}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
