"""What makes the compact model learn faster: the recipe, with one thing changed at a time.

Every variant sees the same number of texts, then recovers the same validation texts free-running: from
all positions masked, the length known, confidence decoding. Seconds are of this machine at this time;
compare them with each other only.

    python benchmarks/recipe.py --data data/short --output runs/recipe --texts 40000
    python benchmarks/recipe.py --data data/short --output runs/recipe --variants recipe,no-whitening
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from unembed.config_file import read_config_file
from unembed.training.config import TrainConfig
from unembed.training.dataset import open_corpus
from unembed.training.training_loop import train
from unembed.training.validate import free_running

CONFIG = Path(__file__).parent.parent / "src/unembed/configs/compact-minilm.yaml"

VARIANTS: dict[str, dict[str, object]] = {
    "recipe": {},
    "no-whitening": {"whiten": False},
    "heads-on-the-batch-only": {"head_batch": 0},
    "one-length-per-step": {"groups": 1},
    "four-lengths-per-step": {"groups": 4},
    "memory-16": {"memory": 16},
    "bound-weighting": {"weighting": "bound"},
    "exponential-noise": {"noise": "exponential"},
    "rate-halved": {"learning_rate": 2.5e-4},
    "rate-doubled": {"learning_rate": 1e-3},
    "new-weights-as-fast": {"new_rate": 1.0},
    "condition-as-fast-as-heads": {"condition_rate": None},
    "condition-as-fast-as-heads-unbounded": {"condition_rate": None, "modulation_limit": 0.0},
    "batch-64": {"batch": 64},
    "batch-256": {"batch": 256},
    "two-blocks": {"backbone_layers": (0, 3)},
    "lower-blocks": {"backbone_layers": (0, 1, 2)},
    "upper-blocks": {"backbone_layers": (3, 4, 5)},
    "six-blocks": {"backbone_layers": ()},
    "from-scratch": {
        "backbone": None,
        "backbone_layers": (),
        "layers": 3,
        "hidden": 384,
        "heads": 12,
        "ffn": 1536,
    },
    "no-lexical-head": {"lexical_hidden": 0, "memory": 0},
    "lexical-1024": {"lexical_hidden": 1024},
    "full-softmax": {"candidates": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="one folder a variant is made in here")
    parser.add_argument("--texts", type=int, default=40_000, help="texts that each variant sees")
    parser.add_argument("--limit", type=int, default=300_000, help="texts that they are drawn from")
    parser.add_argument("--samples", type=int, default=1000, help="validation texts to recover")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    base = read_config_file(CONFIG, TrainConfig)
    rows = []
    for name in arguments.variants.split(","):
        values = {**base, **VARIANTS[name], "min_tokens": 4, "max_tokens": 16, "limit": arguments.limit}
        values |= {"data": (arguments.data,), "output": arguments.output / name, "minutes": None}
        values["steps"] = arguments.texts // int(str(values["batch"]))
        values |= {"validate_every": 10**9, "save_every": 10**9, "sample_size": 16}
        config = TrainConfig(**values)  # type: ignore[arg-type]
        model = train(config)
        texts = open_corpus(config).validation
        sample = free_running(model.denoiser, model, texts, size=arguments.samples, show=0)
        row = {
            "variant": name,
            "accuracy": sample.accuracy,
            "f1": sample.f1,
            "exact": sample.exact,
            "n": sample.n,
            "seconds": model.config.training["seconds"],
        }
        rows.append(row)
        if arguments.json:
            print(json.dumps(row), flush=True)
        else:
            figures = "  ".join(f"{row[key]:.3f}" for key in ("accuracy", "f1", "exact"))
            print(f"{name:28} {figures}  n={sample.n}  {row['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
