"""What one round of a guided search gains, by how it looks at a text's neighbours; from the same texts each.

    python benchmarks/round_gain.py --data data/short --samples 24 --max-tokens 16 \
        --way all='{"first_look": 1}' --way third='{"first_look": 3}'

Whole searches differ by luck: it takes hundreds of them to see what an option does. Here every way looks at
the same text, knows the same of the surrogate's errors, and embeds its most promising neighbours; the
best of all ways is the text of the next round. A round's gain is by how much the nearest neighbour is nearer
than the text was, 0 if none is. The first way is the one that the others are compared with: the intervals are
95 %, of the difference in mean gain, texts resampled. `read` counts what the surrogate reads, single words
included.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from unembed.compute.precision import choose_precision, computing
from unembed.data.prepared import PreparedData
from unembed.decode.invert_batch import invert_batch
from unembed.decode.registry import make_decoder
from unembed.encoders.base import Encoder
from unembed.evaluation.samples import draw_samples
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter
from unembed.search.edits import Entries
from unembed.search.error_model import Floats, GPErrorModel, unit
from unembed.search.guided_strategy import START_LENGTHS
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings


class Remembering:
    """An encoder that reads no text twice; `read` counts all that it was asked for."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self.info = encoder, encoder.info
        self._known: dict[str, Floats] = {}
        self.read = 0

    def encode(self, texts: list[str], **_: Any) -> Floats:
        self.read += len(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, unit(self._encoder.encode(new)), strict=True))
        return np.stack([self._known[text] for text in texts])

    def tokenizer(self) -> Any:
        return self._encoder.tokenizer()


class Trial:
    """The search for one text, a round at a time."""

    def __init__(self, inverter: Inverter, text: str) -> None:
        self.inverter = inverter
        self.encoder, self.surrogate = Remembering(inverter.guide(None)), Remembering(inverter.surrogate)
        self.target = self.encoder.encode([text])[0]  # [D]
        self.errors = GPErrorModel(self.target)
        self.tried: dict[str, Hypothesis] = {}
        settings = GuidedSettings()
        config = InvertConfig(
            n_best=settings.num_starts, num_lengths=START_LENGTHS, steps=settings.start_steps
        )
        [found] = invert_batch(inverter.checkpoint, self.target[None], None, make_decoder(), config)
        vocabulary = inverter.checkpoint.vocabulary
        starts = [found.tokens, *(one.tokens for one in found.alternatives)]
        first = self.embed([tuple(vocabulary.encode(np.array(ids)).tolist()) for ids in starts])
        self.learn(first)
        self.parent = max(first, key=lambda one: one.cosine)

    def embed(self, entries: list[Entries]) -> list[Hypothesis]:
        texts = self.inverter.checkpoint.texts(entries)
        vectors = self.encoder.encode(texts)  # [n, D]
        rows = zip(entries, texts, vectors, (vectors @ self.target).tolist(), strict=True)
        return [Hypothesis(one, text, vector, cosine, "trial") for one, text, vector, cosine in rows]

    def learn(self, some: list[Hypothesis]) -> None:
        new = list({one.text: one for one in some if one.text not in self.tried}.values())
        if new:
            by_surrogate = self.surrogate.encode([one.text for one in new])
            self.errors.learn(by_surrogate, np.stack([one.vector for one in new]))
        self.tried.update({one.text: one for one in new})

    def look(self, settings: GuidedSettings) -> tuple[list[Hypothesis], int]:
        """The neighbours that this way embeds, and how many texts the surrogate read for it."""
        objective = Objective.of(settings, by_surrogate=False, trigrams=True)
        longest = self.inverter.checkpoint.config.denoiser.max_length
        state = SearchState(
            self.target, np.random.default_rng(0), settings, objective,
            max_length=longest, error_model=self.errors, tried=dict(self.tried),
        )  # fmt: skip
        aim = self.target + settings.overshoot * (self.target - self.parent.vector)  # [D]
        self.surrogate.read = 0
        prefilter = SurrogatePrefilter(self.surrogate, settings.prefilter_ratio)
        Neighbourhood(self.inverter.checkpoint, settings, prefilter, self.inverter.phrases).explore(
            [(state, self.parent)], unit(aim[None])
        )
        read = self.surrogate.read
        return self.embed(state.take_neighbours(self.parent, settings.neighbours)), read

    def round(self, ways: dict[str, GuidedSettings]) -> dict[str, tuple[float, int]]:
        """Each way's gain and what it read; then all of them are known, and the best text is the next."""
        every: list[Hypothesis] = []
        out = {}
        for name, settings in ways.items():
            some, read = self.look(settings)
            gain = max((one.cosine for one in some), default=0.0) - self.parent.cosine
            out[name] = (max(gain, 0.0), read)
            every += some
        self.learn(every)
        self.parent = max([self.parent, *every], key=lambda one: one.cosine)
        return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--way", action="append", required=True, metavar="NAME=JSON", help="repeat for more")
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--split", default="validation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0, help="of the processor, at most [default: any]")
    options = parser.parse_args()
    ways = {
        name: GuidedSettings.model_validate_json(given)
        for name, _, given in (way.partition("=") for way in options.way)
    }
    inverter = Inverter.from_pretrained()
    samples = draw_samples(
        PreparedData.open(options.data), options.split, options.samples, seed=options.seed,
        tokenizer=inverter.checkpoint.tokenizer, min_tokens=4, max_tokens=options.max_tokens,
    )  # fmt: skip
    began = time.process_time()
    texts: list[dict[str, list[tuple[float, int]]]] = []
    with computing(choose_precision("auto")):
        for text in samples.texts:
            if options.seconds and time.process_time() - began > options.seconds:
                break
            trial, rows = Trial(inverter, text), []
            while len(rows) < options.rounds and trial.parent.cosine < GuidedSettings().target_cosine:
                rows.append(trial.round(ways))
            if rows:
                texts.append({name: [row[name] for row in rows] for name in ways})
    gains = {name: np.array([sum(gain for gain, _ in one[name]) for one in texts]) for name in ways}
    rounds = np.array([len(next(iter(one.values()))) for one in texts])
    draws = np.random.default_rng(0).integers(len(texts), size=(2000, len(texts)))
    first = next(iter(gains.values()))
    for name, gain in gains.items():
        edges = ((gain - first)[draws].sum(axis=1) / rounds[draws].sum(axis=1)).tolist()
        row = {
            "way": name, "texts": len(texts), "rounds": int(rounds.sum()),
            "gain": round(float(gain.sum() / rounds.sum()), 4),
            "of_the_first": round(float(gain.sum() / first.sum()), 3),
            "difference": [round(float(edge), 4) for edge in np.quantile(edges, [0.025, 0.975])],
            "read": round(float(np.mean([read for one in texts for _, read in one[name]]))),
        }  # fmt: skip
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
