"""The largest batch that fits into memory, found by trying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from numpy.typing import NDArray

from unembed.errors import UnavailableError
from unembed.training.corrupted_batch import BatchMaker

if TYPE_CHECKING:
    from unembed.training.training_run import TrainingRun


def largest_batch(run: TrainingRun, make_batch: BatchMaker) -> int:
    """Forward and backward on the longest texts, halving from `config.batch` until memory suffices."""
    lengths = run.corpus.train.lengths
    longest = np.nonzero(lengths == lengths.max())[0]
    batch = run.config.batch
    while batch:
        try:
            _attempt(run, make_batch, np.resize(longest, batch))
            return _smallest(run, batch)
        except Exception as error:
            if not should_reduce_batch_size(error):
                raise
            batch //= 2
        finally:
            run.optimiser.zero_grad(set_to_none=True)
            clear_device_cache(garbage_collection=True)
    raise UnavailableError(
        "Not even one sample fits into this device's memory.", hint="Choose a smaller model, or --device cpu."
    )


def _attempt(run: TrainingRun, make_batch: BatchMaker, indices: NDArray[np.int64]) -> None:
    # AdamW's two moments come with the first update: they must fit as well.
    moments = [torch.empty_like(p) for p in run.denoiser.parameters() for _ in range(2)]
    step = make_batch(0, [indices], run.rank).to(run.accelerator.device)
    with run.accelerator.autocast():
        run.objective()(step)["loss"].backward()
    del moments


def _smallest(run: TrainingRun, batch: int) -> int:
    """What fits on every device."""
    if run.rank.count == 1:
        return batch
    mine = torch.tensor([batch], device=run.accelerator.device)
    return int(run.accelerator.gather(mine).min())
