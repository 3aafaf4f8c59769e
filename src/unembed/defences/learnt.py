"""A transform that is learnt: neighbours stay, and an inverter that is retrained at every step fails."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_rows
from unembed.defences.method import Method, Parameters, lengths, with_lengths
from unembed.errors import DataError

LEAST = 100  # vectors; from fewer no inverter learns anything, so none can be trained against


class LearntParameters(Parameters):
    adversary: float = Field(
        1.0,
        ge=0,
        allow_inf_nan=False,
        description="Weight of the inverter's success against that of the neighbours; 0: nothing is changed.",
    )
    hidden: int = Field(256, ge=1, le=4096, description="Width of the transform's hidden layer.")
    steps: int = Field(300, ge=1, description="Steps of training.")
    batch: int = Field(512, ge=8, description="Vectors per step whose neighbours are compared.")


class Learnt(Method):
    """`v A + tanh(v B + b) C`, stretched to the vector's former length, plus Gaussian noise; A, B, b, C and
    how much noise are learnt together by `adversarial_training.train_transform`. Queries get no noise.

    Without noise an inverter would undo any such transform; with it, what the transform makes small is
    lost.
    """

    info = DefenceInfo(
        name="learnt",
        title="Learnt against an inverter",
        strength="adversary",
        strengths=(0.3, 1.0, 3.0, 10.0),
        secret=None,
        random=True,
        queries_too=True,
        needs_fit=True,
        source="Adversarial training against an attacker, after Coavoux et al. 2018 (EMNLP) and Song and "
        "Raghunathan 2020 (CCS); the closed-form inverter and the learnt noise are ours",
    )
    parameters_type = LearntParameters
    parameters: LearntParameters

    def _learn(self, vectors: Floats, seed: int) -> None:
        if self.parameters.adversary:
            if len(vectors) < LEAST:
                raise DataError(
                    f"The learnt defence is fitted on at least {LEAST} vectors; these are {len(vectors)}.",
                    hint="Give more with --fit-on: a few thousand are better.",
                )
            from unembed.defences.adversarial_training import train_transform

            chosen = self.parameters
            unit = np.asarray(with_lengths(vectors, np.ones((len(vectors), 1))), np.float32)
            self.public.update(
                train_transform(
                    unit,
                    adversary=chosen.adversary,
                    hidden=chosen.hidden,
                    steps=chosen.steps,
                    batch=chosen.batch,
                    seed=seed,
                    progress=self._progress,
                )
            )

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        if not self.public:
            return vectors
        have = lengths(vectors)
        unit = with_lengths(vectors, np.ones_like(have))
        parts = {name: array.astype(np.float64) for name, array in self.public.items()}
        hidden = np.tanh(unit @ parts["inner"] + parts["bias"])
        return with_lengths(unit @ parts["linear"] + hidden @ parts["outer"], have)

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        if not self.public:
            return np.zeros(vectors.shape)
        return self._sigma * lengths(vectors) * normal_rows(vectors, vectors.shape[1], seed, "learnt")

    @property
    def _sigma(self) -> float:
        return float(self.public["sigma"][0]) if self.public else 0.0

    def _units(self) -> dict[str, float | int | str]:
        if self.fitted_dimension is None or self.mean_norm is None:
            return {}
        return {
            "noise_per_dimension": self._sigma * self.mean_norm,
            "noise_relative_to_norm": self._sigma * self.fitted_dimension**0.5,
        }
