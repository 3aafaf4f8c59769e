"""`unembed.train`: one call from prepared data to a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unembed.config_file import settings_from
from unembed.extras import require
from unembed.training.config import TrainConfig
from unembed.training.presets import find_config

if TYPE_CHECKING:
    from unembed.model.checkpoint import Checkpoint
    from unembed.training.training_run import Watcher


def train(
    config: TrainConfig | str | Path | None = None, *, watch: Watcher | None = None, **fields: Any
) -> Checkpoint:
    """Train an inverter on prepared data, or resume an earlier run: what `unembed train` does.

    >>> model = unembed.train("compact-minilm", data="data/short", output="runs/short", minutes=10)
    >>> unembed.Inverter(model).invert(vectors[0]).text

    `config` is a packaged configuration's name, a YAML file or a `TrainConfig`; `fields` are the fields of
    `TrainConfig` and come on top. `watch(kind, progress, figures)` is called at every step and figure.
    Returns the averaged weights after the last step, which are also in `latest/` of the output folder;
    `best/` has those that validated best. Under `accelerate launch` every process calls this.
    """
    require("accelerate", extra="train", purpose="Training")
    base = find_config(str(config)) if isinstance(config, (str, Path)) else config
    settings = settings_from(TrainConfig, base, fields)
    from unembed.training import training_loop

    return training_loop.train(settings) if watch is None else training_loop.train(settings, watch)
