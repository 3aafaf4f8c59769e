"""Do these vectors look like the model's? The wrong model gives fluent nonsense, so the user must know."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.model.shipped import shipped_for

# A norm is usual within this many standard deviations of the mean, or this share of the mean.
NORM_SPREADS, NORM_SHARE = 8.0, 0.02
# The whitened energy of the model's own encoder's vectors lies between these: benchmarks/plausible_range.py
# measures it.
LEAST_ENERGY, MOST_ENERGY = 0.05, 4.25


class PlausibilityWarning(UserWarning):
    """The vectors do not look like those that the model was trained on."""


def check_dimension(vectors: NDArray[np.float32], dimension: int) -> None:
    """Raise an error unless the vectors [n, D] have the model's dimension."""
    if vectors.shape[1] != dimension:
        found = vectors.shape[1]
        ready = shipped_for(found)
        hint = "Use the model that was trained for the encoder which made these vectors"
        hint += ", or adapt one to it: unembed adapt --help"
        if ready:
            hint += f". For vectors of {found} dimensions these come with the package: --model "
            hint += ", --model ".join(ready)
        raise DataError(
            f"The vectors have {found} dimensions; this model inverts vectors of {dimension}.", hint=hint
        )


def unusable(vectors: NDArray[np.float32]) -> list[str | None]:  # [n]
    """Why each of the vectors [n, D] cannot be inverted; None for those that can."""
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(vectors).all(axis=1))  # [n]
    return [None if fine else "The vector has NaN or infinity." for fine in finite]


def check_numbers(vectors: NDArray[np.float32], dimension: int, *, first: int = 0) -> None:
    """Raise an error that names the first unusable vector; `first` is the number of the first row."""
    check_dimension(vectors, dimension)
    for number, reason in enumerate(unusable(vectors), first):
        if reason is not None:
            raise DataError(f"Vector {number} holds NaN or infinity.")


class PlausibilityCheck:
    """Compares vectors with those of the training; complains once, however many batches it is shown.

    >>> check = PlausibilityCheck(checkpoint)
    >>> check(vectors * 3)
    "The vectors' length is about 3, in training it was 1. These vectors do not look like those of ..."
    >>> check(vectors * 3)  # None: it has complained
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._standardise = checkpoint.denoiser.standardise
        self._norm = checkpoint.config.vector_norm
        self._encoder = checkpoint.config.encoder.name
        self._complained = False

    def __call__(self, vectors: NDArray[np.float32]) -> str | None:
        """The complaint about these vectors [n, D], in words; None if they look right."""
        if self._complained or not len(vectors):
            return None
        complaint = self._norm_complaint(vectors) or self._statistics_complaint(vectors)
        if complaint is None:
            return None
        self._complained = True
        return (
            f"{complaint} These vectors do not look like those of '{self._encoder}', for which this "
            "model was trained: the texts may be fluent and wrong."
        )

    def _norm_complaint(self, vectors: NDArray[np.float32]) -> str | None:
        mean, spread = self._norm
        norms = np.linalg.norm(vectors, axis=1)  # [n]
        unusual = np.abs(norms - mean) > max(NORM_SPREADS * spread, NORM_SHARE * mean)
        if unusual.mean() <= 0.5:
            return None
        return f"The vectors' length is about {np.median(norms):.4g}, in training it was {mean:.4g}."

    @torch.no_grad()
    def _statistics_complaint(self, vectors: NDArray[np.float32]) -> str | None:
        energy = whitened_energy(self._standardise, vectors)  # [n]
        usual = float(np.median(energy))
        if LEAST_ENERGY <= usual <= MOST_ENERGY:
            return None
        return f"The vectors point in unusual directions (whitened energy {usual:.2g}, usually about 1)."


@torch.no_grad()
def whitened_energy(standardise: torch.nn.Module, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean square of each vector's whitened numbers: about 1 for what the model was trained on.  # [n]"""
    device = next(standardise.buffers()).device
    z = standardise(torch.from_numpy(np.ascontiguousarray(vectors)).to(device))  # [n, D]
    energy: NDArray[np.float32] = z.square().mean(dim=1).cpu().numpy()
    return energy
