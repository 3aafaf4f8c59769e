"""Vectors of texts longer than the model writes: what tells them where the store has no texts.

The length head never saw such texts and says little about them. But no short text comes near their vectors: a
quick inversion's cosine by the surrogate and its score, how sharp the likeliest words are, and the expected
length together tell more, by a logistic map (audit/calibration.py). It is a guess: the calibration says how
good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.decode.surrogate_ranking import surrogate_cosines
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter

if TYPE_CHECKING:
    from unembed.audit.calibration import Calibration
    from unembed.audit.which_encoder import ChosenModel

QUICK = InvertConfig(
    quality="fast", num_lengths=1, ranking="score", check=False, bad_vectors="record", batch_size=16
)
SHARPEST = 10  # words whose mean probability is looked at


def can_tell(inverter: Inverter) -> bool:
    """Whether the model has what it takes: a surrogate, a lexical and a length head."""
    return inverter.has_surrogate and inverter.denoiser.lexical is not None and not inverter.fixed_length


@torch.no_grad()
def length_features(inverter: Inverter, vectors: NDArray[np.float32]) -> NDArray[np.float64]:  # [n, 5]
    """Surrogate's cosine and score of a quick inversion, expected length, sharpness and spread of the
    words.
    """
    denoiser = inverter.denoiser
    assert denoiser.lexical is not None
    found = inverter.invert(vectors, QUICK)
    cosine = surrogate_cosines(inverter.surrogate, [one.text for one in found], vectors)  # [n]
    score = [max(one.score, -50.0) for one in found]
    e = torch.from_numpy(np.ascontiguousarray(vectors)).to(inverter.device)  # [n, D]
    p = torch.softmax(denoiser.length_logits(e).double()[:, 1:], dim=1)  # [n, max_length]
    expected = (p * torch.arange(1, p.shape[1] + 1, dtype=torch.double, device=p.device)).sum(dim=1)  # [n]
    logits = denoiser.lexical(denoiser.read(e)).double()  # [n, V]
    sharp = torch.sigmoid(logits).topk(min(SHARPEST, logits.shape[1]), dim=1).values.mean(dim=1)  # [n]
    log_p = torch.log_softmax(logits, dim=1)  # [n, V]
    spread = -(log_p.exp() * log_p).sum(dim=1)  # [n]
    columns = [cosine, score, expected.tolist(), sharp.tolist(), spread.tolist()]
    out: NDArray[np.float64] = np.array(columns, dtype=np.float64).T
    return out


def look_long(
    chosen: ChosenModel, vectors: Sequence[NDArray[np.float32]], calibration: Calibration | None
) -> list[bool]:
    """Whether each vector looks like that of a longer text; without a calibration nothing is claimed."""
    inverter = chosen.inverter
    if (
        not vectors
        or inverter is None
        or calibration is None
        or calibration.long is None
        or not can_tell(inverter)
    ):
        return [False] * len(vectors)
    found = calibration.long(length_features(inverter, np.stack(vectors)))  # [n]
    return [bool(p > 0.5) for p in found]
