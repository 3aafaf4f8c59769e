"""Inversions whose texts and scores must not change by accident.

    python tests/unchanged/cases.py    # writes expected.json anew, after a change that is meant

The vectors are stored, so that what is compared is the inversion and nothing before it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unembed import Inverter

HERE = Path(__file__).parent
SENTENCES = [
    "I would like to live in a quiet house near the sea.",
    "Please call Maria at the clinic tomorrow.",
    "Where did you learn to speak French?",
    "The committee published its final report on Monday, after two years of hearings.",
]
# What the defaults were when the expected results were made.
THEN: dict[str, Any] = {
    "steps": 32,
    "num_lengths": 5,
    "ranking": "score",
    "precision": "fp32",
    "shortlist": 0,
}
CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "known-length": {"lengths": 12},
    "eight-passes-five-texts": {"steps": 8, "n_best": 5},
    "margin": {"strategy": "confidence", "by": "margin"},
    "sequential": {"strategy": "sequential"},
    "euler": {"strategy": "euler", "steps": 8, "seed": 3},
    "euler-remask": {"strategy": "euler-remask", "steps": 8, "seed": 3},
    "two-stage": {"strategy": "two-stage", "steps": 8, "seed": 3},
    "beam": {"strategy": "beam", "steps": 4},
    "entropy-bound": {"strategy": "entropy-bound"},
    "mask-predict": {"strategy": "mask-predict", "steps": 6},
    "guided": {
        "strategy": "guided",
        "max_encoder_calls": 30,
        "seed": 1,
        "single_edits": 0,
        "moves": 150,
        "random_after": 0,
        "first_look": 1,
        "words_per_mask": 8,
        "refine_starts": 0,
    },
    "guided-by-surrogate": {
        "strategy": "guided",
        "max_encoder_calls": 20,
        "encoder": "surrogate",
        "words_per_mask": 8,
    },
}


def vectors() -> np.ndarray:
    """[n, D]"""
    return np.load(HERE / "vectors.npy", allow_pickle=False)


def results(inverter: Inverter, name: str) -> list[dict[str, Any]]:
    """What one case gives for every vector."""
    return [
        {
            "text": one.text,
            "tokens": list(one.tokens),
            "score": one.score,
            "forward_passes": one.forward_passes,
            "encoder_calls": one.encoder_calls,
            "cosine": one.cosine,
            "alternatives": [[other.text, other.score] for other in one.alternatives],
        }
        for one in inverter.invert(vectors(), **{**THEN, **CASES[name]})
    ]


if __name__ == "__main__":
    model = Inverter.from_pretrained()
    if not (HERE / "vectors.npy").exists():
        np.save(HERE / "vectors.npy", model.encode(SENTENCES))
    expected = {name: results(model, name) for name in CASES}
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
