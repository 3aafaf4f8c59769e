"""What one inversion costs by Vec2Text's method and by 8 denoising steps here, on this machine in one run.

    python benchmarks/vec2text_cost.py
    OMP_NUM_THREADS=1 python benchmarks/vec2text_cost.py --clock cpu     where other work shares the machine
    python benchmarks/vec2text_cost.py --steps 20 --batch 1 --repeat 3 --json

Vec2Text (Morris et al., 2023) starts from a hypothesis and corrects it 20 times. Every correction embeds
the hypothesis with the victim's encoder, and a corrector (T5-base) writes the next one token by token. Here
are networks of those shapes with random weights: GTR-base as the encoder (T5-base's encoder, mean pooling,
one dense layer), T5-base as the corrector, whose input is three vectors projected to 16 tokens each plus the
hypothesis. Greedy, with cached keys and values, always 32 tokens. Against it stands the paper's denoiser
(8 blocks, vocabulary 50,257, 32 tokens). Texts are meaningless and not compared: this is about cost alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from transformers import T5Config, T5EncoderModel, T5ForConditionalGeneration

from unembed.decode import decode, make_decoder
from unembed.invert_config import InversionOptions
from unembed.model.config import DenoiserConfig
from unembed.model.denoiser import Denoiser

WIDTH, TOKENS, PER_VECTOR = 768, 32, 16


class Vec2Text(nn.Module):
    """The corrector's loop, with networks of the right shapes."""

    def __init__(self) -> None:
        super().__init__()
        shape = T5Config(
            d_model=WIDTH, d_ff=3072, d_kv=64, num_layers=12, num_decoder_layers=12, num_heads=12,
            vocab_size=32_128, decoder_start_token_id=0,
        )  # fmt: skip
        self.victim = T5EncoderModel(deepcopy(shape))  # which makes an encoder's of it
        self.victim_dense = nn.Linear(WIDTH, WIDTH, bias=False)
        self.corrector = T5ForConditionalGeneration(shape)
        # One vector becomes 16 tokens, by an MLP of its own for each of the three.
        self.project = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH * PER_VECTOR))
            for _ in range(3)
        )

    def embed(self, tokens: Tensor) -> Tensor:
        hidden = self.victim(input_ids=tokens).last_hidden_state  # [B, 32, D]
        return nn.functional.normalize(self.victim_dense(hidden.mean(dim=1)), dim=1)  # [B, D]

    def write(self, inputs: Tensor) -> Tensor:
        """32 tokens, one at a time.  # [B, 32]"""
        out: Tensor = self.corrector.generate(
            inputs_embeds=inputs,
            attention_mask=torch.ones(inputs.shape[:2], dtype=torch.long),
            min_new_tokens=TOKENS,
            max_new_tokens=TOKENS,
            do_sample=False,
            num_beams=1,
        )
        return out[:, -TOKENS:]

    @torch.no_grad()
    def invert(self, e: Tensor, steps: int) -> Tensor:
        """e: [B, D]"""
        batch = len(e)
        first = self.project[0](e).view(batch, PER_VECTOR, WIDTH)
        tokens = self.write(first)  # the hypothesis to begin with
        for _ in range(steps):
            guess = self.embed(tokens)  # [B, D]
            parts = zip(self.project, (e, e - guess, guess), strict=True)
            vectors = [layer(vector).view(batch, PER_VECTOR, WIDTH) for layer, vector in parts]
            words = self.corrector.get_input_embeddings()(tokens)  # [B, 32, D]
            tokens = self.write(torch.cat([*vectors, words], dim=1))  # from [B, 80, D]
        return tokens


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20, help="corrections [default: %(default)s]")
    parser.add_argument("--denoising-steps", type=int, default=8, help="here [default: %(default)s]")
    parser.add_argument(
        "--batch", type=int, default=1, help="vectors at once, for both [default: %(default)s]"
    )
    parser.add_argument("--repeat", type=int, default=2, help="repetitions [default: %(default)s]")
    parser.add_argument(
        "--clock", choices=list(CLOCKS), default="wall", help="cpu: processor time [default: %(default)s]"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    torch.manual_seed(0)
    theirs = Vec2Text().eval()
    denoiser = Denoiser(DenoiserConfig(vector_dim=WIDTH, vocabulary=50_257, max_length=TOKENS)).eval()
    e = nn.functional.normalize(torch.randn(options.batch, WIDTH), dim=1)
    lengths, decoder = torch.full((options.batch,), TOKENS), make_decoder("confidence")

    def run_theirs() -> None:
        theirs.invert(e, options.steps)

    def run_ours() -> None:
        decode(denoiser, e, lengths, decoder, InversionOptions(steps=options.denoising_steps))

    theirs.invert(e, 1)  # warm both up
    run_ours()
    times: dict[str, list[float]] = {"theirs": [], "ours": []}
    for repetition in range(options.repeat):
        pair = [("ours", run_ours), ("theirs", run_theirs)]
        for name, run in pair if repetition % 2 == 0 else pair[::-1]:
            times[name].append(seconds(run, CLOCKS[options.clock]))
    ratios = [a / b for a, b in zip(times["theirs"], times["ours"], strict=True)]
    result = {
        "batch": options.batch,
        "vec2text_corrections": options.steps,
        "denoising_steps": options.denoising_steps,
        "vec2text_s": round(statistics.median(times["theirs"]), 3),
        "unembed_s": round(statistics.median(times["ours"]), 3),
        "ratio": round(statistics.median(ratios), 1),
        "ratio_range": [round(min(ratios), 1), round(max(ratios), 1)],
        "clock": options.clock,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    if options.json:
        print(json.dumps(result))
        return
    for key, value in result.items():
        print(f"{key.replace('_', ' '):24}{value}")


if __name__ == "__main__":
    main()
