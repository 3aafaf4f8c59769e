"""How fast a guided search is, beside the plain loop (one proposal at a time), in the same run.

    python benchmarks/guided.py --data data/short --samples 8 --calls 200
    python benchmarks/guided.py --data data/short --edits --calls 1000 --samples 50

Both ways use the same model, phrases, encoder and budget of encoder calls per sentence. The plain loop takes
one sentence after the other; it edits its nearest text, fills the masks of that one edit, embeds that one
text, and repeats: no neighbours, no merges, no prefilter. Ours makes all proposals of all sentences in one
round: every pass is a full batch. The ratio is that of seconds per call, the median over the repetitions,
whose order alternates.

`--edits` counts instead what each kind of edit gained: texts embedded, and how many of them were nearer
than everything before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from unembed.data.prepared import PreparedData
from unembed.decode.invert_batch import invert_batch
from unembed.decode.registry import make_decoder
from unembed.encoders.base import Encoder
from unembed.evaluation.samples import draw_samples
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter
from unembed.model.parts import SURROGATE
from unembed.search.edits import Entries
from unembed.search.guided_search import GuidedSearch
from unembed.search.search_state import SearchState
from unembed.search.settings import GuidedSettings


def begin(inverter: Inverter, vectors: np.ndarray, starts: int) -> list[list[Entries]]:
    """The plain inversion's texts: what both ways start from, outside of the timing."""
    checkpoint = inverter.checkpoint
    found = invert_batch(checkpoint, vectors, None, make_decoder(), InvertConfig(n_best=starts))
    texts = [[one.tokens, *(other.tokens for other in one.alternatives)] for one in found]
    return [[tuple(checkpoint.vocabulary.encode(np.array(ids)).tolist()) for ids in some] for some in texts]


def surrogate(inverter: Inverter, guide: str) -> Encoder | None:
    """What prefilters the proposals: whoever searches with this model has it."""
    return inverter.surrogate if inverter.has_surrogate and guide != SURROGATE else None


def plain_loop(
    inverter: Inverter, guide: str, vectors: np.ndarray, starts: list[list[Entries]], calls: int
) -> list[SearchState]:
    """One sentence, one proposal, one forward pass and one encoder call at a time."""
    alone = GuidedSettings(
        max_encoder_calls=calls, beam_width=1, proposals=1, neighbours=0, merge=0, target_cosine=2.0
    )
    search = GuidedSearch(
        inverter.checkpoint, inverter.guide(guide or None), alone, batch=1, phrases=inverter.phrases
    )
    return [search.run(vector[None], [start])[0] for vector, start in zip(vectors, starts, strict=True)]


def together(
    inverter: Inverter, guide: str, vectors: np.ndarray, starts: list[list[Entries]], calls: int
) -> list[SearchState]:
    """All sentences at once."""
    settings = GuidedSettings(max_encoder_calls=calls, target_cosine=2.0)
    search = GuidedSearch(
        inverter.checkpoint,
        inverter.guide(guide or None),
        settings,
        surrogate=surrogate(inverter, guide),
        phrases=inverter.phrases,
    )
    return search.run(vectors, starts)


def summary(states: list[SearchState], texts: list[str], seconds: float) -> dict[str, float]:
    calls = sum(state.calls for state in states)
    best = [state.history[-1] for state in states]
    return {
        "seconds_a_sentence": seconds / len(states),
        "ms_a_call": 1000 * seconds / calls,
        "cosine": float(np.mean([one.cosine for one in best])),
        "exact": float(np.mean([one.text == text for one, text in zip(best, texts, strict=True)])),
    }


def count_edits(states: list[SearchState]) -> list[tuple[str, int, int]]:
    """Each kind of edit: how many texts it made, and how many of them were nearer than all before."""
    made = Counter(one.made_by for state in states for one in state.tried.values())
    nearer = Counter(one.made_by for state in states for one in state.history)
    return sorted(((kind, made[kind], nearer[kind]) for kind in made), key=lambda row: -row[2] / row[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", help="[default: the bundled one]")
    parser.add_argument("--guide", default="", help="encoder [default: the model's own]")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--calls", type=int, default=200, help="encoder calls per sentence")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--edits", action="store_true", help="count what each kind of edit gained")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    inverter = Inverter.from_pretrained(options.model)
    data = PreparedData.open(options.data)
    tokenizer = inverter.checkpoint.tokenizer
    samples = draw_samples(data, "test", options.samples, seed=0, tokenizer=tokenizer)
    vectors, texts = samples.vectors.astype(np.float32), list(samples.texts)
    starts = begin(inverter, vectors, GuidedSettings().num_starts)
    if options.edits:
        states = GuidedSearch(
            inverter.checkpoint,
            inverter.guide(options.guide or None),
            GuidedSettings(max_encoder_calls=options.calls),
            surrogate=surrogate(inverter, options.guide),
            phrases=inverter.phrases,
        ).run(vectors, starts)
        for kind, made, nearer in count_edits(states):
            print(f"{kind:12} {made:7,} texts  {nearer:5,} nearer  {1000 * nearer / made:6.1f} a thousand")
        return
    ways = {"plain loop": plain_loop, "together": together}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for repetition in range(options.repeat):
        order = list(ways) if repetition % 2 == 0 else list(ways)[::-1]
        for name in order:
            began = time.perf_counter()
            states = ways[name](inverter, options.guide, vectors, starts, options.calls)
            rows[name].append(summary(states, texts, time.perf_counter() - began))
    middle = {
        name: {key: statistics.median(row[key] for row in some) for key in some[0]}
        for name, some in rows.items()
    }
    ratio = statistics.median(
        plain["ms_a_call"] / ours["ms_a_call"]
        for plain, ours in zip(rows["plain loop"], rows["together"], strict=True)
    )
    if options.json:
        print(json.dumps({**middle, "ratio": ratio, "n": len(texts), "calls": options.calls}))
        return
    print(f"{len(texts)} sentences, {options.calls} encoder calls each, {torch.get_num_threads()} threads")
    for name, row in middle.items():
        print(f"{name:12}" + "".join(f"  {key} {value:.3f}" for key, value in row.items()))
    print(f"a call costs the plain loop {ratio:.1f} times as much")


if __name__ == "__main__":
    main()
