"""The largest batch that fits into memory, found by trying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

from unembed.errors import UnavailableError
from unembed.train.batch import StepMaker
from unembed.train.objective import Objective

if TYPE_CHECKING:
    from unembed.train.run import Run


def largest_batch(run: Run, make_step: StepMaker) -> int:
    """Forward and backward on the longest texts, halving from `config.batch` until memory suffices."""
    longest_first = np.argsort(-run.corpus.train.lengths, kind="stable")
    objective = Objective(run.denoiser, run.config)
    batch = run.config.batch
    while batch:
        try:
            length = run.corpus.train.lengths[longest_first[0]]
            same = longest_first[run.corpus.train.lengths[longest_first] == length]
            step = make_step(0, [np.resize(same, batch)], run.rank).to(run.accelerator.device)
            with run.accelerator.autocast():
                objective(step)["loss"].backward()
            return batch
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
