"""Vectors of texts longer than the model writes: what tells them where the store has no texts.

The length head never saw such texts; it puts their mass at its end. With the expected length and the energy
of the whitened vector that makes three numbers, and a logistic map of them (audit/calibration.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.inverter import Inverter
from unembed.vectors.plausibility import whitened_energy

if TYPE_CHECKING:
    from unembed.audit.calibration import Calibration
    from unembed.audit.which_encoder import ChosenModel

END = 4  # lengths at the end of what the model knows that count as "at the end"


@torch.no_grad()
def length_features(inverter: Inverter, vectors: NDArray[np.float32]) -> NDArray[np.float64]:  # [n, 3]
    """Log-odds of a length at the end, the expected length, and the whitened energy."""
    denoiser = inverter.denoiser
    e = torch.from_numpy(np.ascontiguousarray(vectors)).to(inverter.device)  # [n, D]
    logits = denoiser.length_logits(e).double()[:, 1:]  # [n, max_length]
    p = torch.softmax(logits, dim=1)
    end = p[:, -END:].sum(dim=1).clamp(1e-6, 1 - 1e-6)
    expected = (p * torch.arange(1, p.shape[1] + 1, dtype=torch.double, device=p.device)).sum(dim=1)
    energy = whitened_energy(denoiser.standardise, vectors)
    return np.stack([torch.logit(end).cpu().numpy(), expected.cpu().numpy(), energy], axis=1).astype(np.float64)


def look_long(
    chosen: ChosenModel, vectors: Sequence[NDArray[np.float32]], calibration: Calibration | None
) -> list[bool]:
    """Whether each vector looks like that of a longer text; without a calibration nothing is claimed."""
    fixed = chosen.inverter is not None and chosen.inverter.fixed_length
    if not vectors or chosen.inverter is None or fixed or calibration is None or calibration.long is None:
        return [False] * len(vectors)
    found = calibration.long(length_features(chosen.inverter, np.stack(vectors)))  # [n]
    return [bool(p > 0.5) for p in found]
