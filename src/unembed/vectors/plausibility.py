"""Do these vectors fit this model? The wrong model gives fluent nonsense, so the user must be told."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint

# Where a vector's norm is usual: within so many spreads of the mean, or so much of the mean.
NORM_SPREADS, NORM_SHARE = 8.0, 0.02
# The whitened energy of the model's own encoder's vectors lies between these: benchmarks/plausibility.py
# measures it.
LEAST_ENERGY, MOST_ENERGY = 0.05, 4.25


class FitWarning(UserWarning):
    """The vectors do not look like those that the model was trained on."""


def check_numbers(vectors: NDArray[np.float32], dimension: int, *, first: int = 0) -> None:
    """`dimension` finite numbers in each vector [n, D], or an error that names the first bad one."""
    if vectors.shape[1] != dimension:
        raise DataError(
            f"The vectors have {vectors.shape[1]} dimensions; this model inverts vectors of {dimension}.",
            hint="Use the model that was trained for the encoder which made these vectors.",
        )
    bad = ~np.isfinite(vectors).all(axis=1)
    if bad.any():
        raise DataError(f"Vector {first + int(bad.argmax())} holds NaN or infinity.")


class FitCheck:
    """Warns once about the norm, once about the statistics, over all windows that it is shown."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._standardise = checkpoint.denoiser.standardise
        self._norm = checkpoint.config.vector_norm
        self._encoder = checkpoint.config.encoder.name
        self._warned = False

    def __call__(self, vectors: NDArray[np.float32]) -> None:
        """A window of vectors [n, D]."""
        if self._warned or not len(vectors):
            return
        complaint = self._norm_complaint(vectors) or self._statistics_complaint(vectors)
        if complaint is not None:
            self._warned = True
            warnings.warn(
                f"{complaint} These vectors do not look like those of '{self._encoder}', for which this "
                "model was trained: the texts may be fluent and wrong.",
                FitWarning,
                stacklevel=2,
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
