"""How near a surrogate comes to its encoder, and how well it predicts what an edit will change.

    python benchmarks/surrogate_quality.py --data data/short --samples 500
    python benchmarks/surrogate_quality.py --data data/wiki --samples 500 --surrogate runs/surrogate/latest

Three figures on texts of the test split:

- cosine: between the surrogate's vector of a text and the encoder's, the mean and its 95 % interval;
- predicted: each text gets `--edits` others that differ in one word (replaced by a word of another text). The
  encoder and the surrogate both say by how much that changes the cosine to the text's own vector; the
  figure is the mean correlation within a text, which is what a prefilter needs;
- taught: the same for the second half of each text's edits, when the encoder's vectors of the first half are
  known and a Gaussian process predicts the surrogate's errors from those, as in a search; beside it, when
  they are not;
- speed: texts per second by the surrogate over those by the encoder, the median of alternating repetitions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
import torch

from unembed.data.prepared import PreparedData
from unembed.encoders.base import Encoder
from unembed.evaluation.samples import draw_samples
from unembed.inverter import Inverter
from unembed.search.error_model import GPErrorModel

REPETITIONS = 5


def unit(encoder: Encoder, texts: list[str]) -> np.ndarray:  # [n, D]
    vectors = encoder.encode(texts)
    out: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return out


def mean(values: np.ndarray) -> str:
    """With its 95 % interval."""
    half = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5
    return f"{values.mean():.3f} [{values.mean() - half:.3f}, {values.mean() + half:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", default=None, help="[default: the bundled one]")
    parser.add_argument("--surrogate", default="surrogate", help="a folder  [default: the model's own]")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    inverter = Inverter.from_pretrained(options.model)
    encoder, surrogate = inverter.encoder, inverter.guide(options.surrogate)
    tokenizer = inverter.checkpoint.tokenizer
    data = PreparedData.open(options.data)
    samples = draw_samples(
        data, "test", options.samples, seed=options.seed, tokenizer=tokenizer, min_tokens=4
    )
    random = np.random.default_rng(options.seed)
    targets = unit(encoder, samples.texts)  # [n, D]
    cosine = (targets * unit(surrogate, samples.texts)).sum(axis=1)  # [n]

    words = [word for ids in samples.tokens for word in ids]
    edited = []
    for ids in samples.tokens:
        for _ in range(options.edits):
            row = int(random.integers(len(ids)))
            other = words[int(random.integers(len(words)))]
            edited.append(tokenizer.decode([*ids[:row], other, *ids[row + 1 :]]))
    vectors = [
        unit(one, edited).reshape(len(samples), options.edits, -1) for one in (encoder, surrogate)
    ]  # 2 x [n, edits, D]
    own = targets[:, None]  # [n, 1, D]
    changes = [(own * some).sum(axis=2) for some in vectors]  # 2 x [n, edits]
    predicted = np.array([np.corrcoef(real, ours)[0, 1] for real, ours in zip(*changes, strict=True)])  # [n]
    half = options.edits // 2
    taught, untaught = np.zeros(len(samples)), np.zeros(len(samples))
    for row, target in enumerate(targets):
        real, ours = vectors[0][row], vectors[1][row]  # [edits, D]
        model = GPErrorModel(target)
        untaught[row] = np.corrcoef(model.predict(ours[half:]), changes[0][row, half:])[0, 1]
        model.learn(ours[:half], real[:half])
        taught[row] = np.corrcoef(model.predict(ours[half:]), changes[0][row, half:])[0, 1]

    seconds: dict[str, list[float]] = {"encoder": [], "surrogate": []}
    for repetition in range(REPETITIONS):
        for name, one in [("encoder", encoder), ("surrogate", surrogate)][:: 1 if repetition % 2 else -1]:
            began = time.perf_counter()
            one.encode(samples.texts)
            seconds[name].append(time.perf_counter() - began)
    ratio = statistics.median(a / b for a, b in zip(seconds["encoder"], seconds["surrogate"], strict=True))
    result = {
        "n": len(samples),
        "cosine": mean(cosine),
        "predicted": mean(predicted[np.isfinite(predicted)]),
        "taught": f"{mean(taught)}, untaught {mean(untaught)}",
        "speed": f"{ratio:.1f}",
        "threads": torch.get_num_threads(),
    }
    print(
        json.dumps(result)
        if options.json
        else "\n".join(f"{name}: {value}" for name, value in result.items())
    )


if __name__ == "__main__":
    main()
