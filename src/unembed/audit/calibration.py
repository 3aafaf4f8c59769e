"""How often a recovered text is right, from what can be seen without the original.

A logistic map per attacker: from the model's score, the text's length, the surrogate's cosine and, where the
encoder can be called, its cosine, to the probability that the text is right word for word, and to its
expected token F1. benchmarks/audit_calibration.py makes it on held-out texts, and tests it on other kinds.
It belongs to one model: for another one there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unembed.audit.attack_rows import AttackRow
from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.storage import digest_json, read_json
from unembed.vectors.identity import result_identity

CALIBRATION_NAME = "calibration.json"
FORMAT = 1
PLAIN = ("score", "length", "surrogate")
WITH_ENCODER = (*PLAIN, "encoder")
LONG = ("surrogate", "score", "expected_length", "sharpness", "spread")
_RIDGE = 1.0  # of the standardised weights: what a handful of texts could not tell stays near zero
Doubles = NDArray[np.float64]


class Logistic(BaseModel):
    """`p = 1 / (1 + exp(-(bias + weights . (x - mean) / scale)))`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def __call__(self, x: Doubles) -> Doubles:  # [n, k] -> [n]
        z = (x - np.array(self.mean)) / np.array(self.scale)
        out: Doubles = 1 / (1 + np.exp(-np.clip(self.bias + z @ np.array(self.weights), -30, 30)))
        return out

    @classmethod
    def fit(cls, features: Sequence[str], x: Doubles, y: Doubles) -> Logistic:
        """By Newton's method; y: [n] between 0 and 1, a share counts as that much of a success."""
        mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
        z = np.concatenate([np.ones((len(x), 1)), (x - mean) / scale], axis=1)  # [n, 1 + k]
        ridge = np.diag([0.0] + [_RIDGE] * x.shape[1])
        # A kind of text without a single success has no finite best bias: half a success and half a failure.
        w = np.zeros(z.shape[1])
        w[0] = math.log((y.sum() + 0.5) / (len(y) - y.sum() + 0.5))
        for _ in range(100):
            p = 1 / (1 + np.exp(-np.clip(z @ w, -30, 30)))
            gradient = z.T @ (p - y) + ridge @ w
            hessian = (z * (p * (1 - p))[:, None]).T @ z + ridge + 1e-6 * np.eye(len(w))
            step = np.linalg.solve(hessian, gradient)
            step *= min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
            w -= step
            if np.abs(step).max() < 1e-8:
                break
        return cls(
            features=tuple(features),
            mean=tuple(map(float, mean)),
            scale=tuple(map(float, scale)),
            weights=tuple(map(float, w[1:])),
            bias=float(w[0]),
        )


class OtherKind(BaseModel):
    """One kind of text that the calibration was not made on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    n: int
    expected_exact: float
    observed_exact: float
    expected_f1: float
    observed_f1: float


class AttackerCalibration(BaseModel):
    """For one attacker, with or without the encoder's cosine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int = Field(description="Texts that it was made on.")
    exact: Logistic
    f1: Logistic
    tested: tuple[OtherKind, ...]

    def error(self, measure: str) -> float:
        """How far expected and observed lie apart over all tested kinds, at most."""
        return max(
            (
                abs(getattr(one, f"expected_{measure}") - getattr(one, f"observed_{measure}"))
                for one in self.tested
            ),
            default=1.0,
        )


class LongTested(BaseModel):
    """How many texts of a kind were taken for long."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    n: int
    long: bool
    called_long: float


class Calibration(BaseModel):
    """All of them, for one model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    model: str = Field(description="Digest of the model and its surrogate.")
    made_on: dict[str, int] = Field(description="Kinds of text, and how many of each.")
    attackers: dict[str, AttackerCalibration] = Field(
        description="By attacker; with '+encoder' its cosine too."
    )
    long: Logistic | None
    long_tested: tuple[LongTested, ...] = ()
    words: dict[str, float] = Field(
        default_factory=dict,
        description="Precision of the likeliest words of long texts, by k, where tested.",
    )

    def of(self, attacker: str, *, with_encoder: bool) -> AttackerCalibration | None:
        return self.attackers.get(f"{attacker}+encoder" if with_encoder else attacker)


def model_digest(checkpoint: Checkpoint) -> str:
    """What a calibration belongs to: the weights and the surrogate."""
    identity: dict[str, Any] = result_identity(checkpoint)
    return digest_json({"model": identity["model"], "surrogate": identity["surrogate"]})


def load_calibration(checkpoint: Checkpoint) -> Calibration | None:
    """The calibration that came with a model; None where there is none, or it is another model's."""
    if checkpoint.folder is None or not (path := checkpoint.folder / CALIBRATION_NAME).exists():
        return None
    found = read_calibration(path)
    return found if found.model == model_digest(checkpoint) else None


def read_calibration(path: Path) -> Calibration:
    try:
        return Calibration.model_validate(read_json(path))
    except ValidationError as error:
        raise DataError(
            f"{path} is not a calibration: {error.errors()[0]['msg']}.",
            hint="Make it again: python benchmarks/audit_calibration.py",
        ) from error


def row_features(rows: Sequence[AttackRow], lengths: Sequence[int], names: Sequence[str]) -> Doubles | None:
    """What a calibration reads of rows; None where one of them lacks something.  # [n, k]"""
    columns: dict[str, list[float | None]] = {
        "score": [max(row.score, -50.0) for row in rows],
        "length": [float(length) for length in lengths],
        "surrogate": [row.surrogate_cosine for row in rows],
        "encoder": [_nearness(row.encoder_cosine) for row in rows],
    }
    chosen = [columns[name] for name in names]
    if any(value is None for column in chosen for value in column):
        return None
    out: Doubles = np.array(chosen, dtype=np.float64).T
    return out


def _nearness(cosine: float | None) -> float | None:
    """Digits of the cosine that are nines: 0.999 is 3. A text that was found is at 6."""
    return None if cosine is None else -math.log10(max(0.0, 1 - cosine) + 1e-6)
