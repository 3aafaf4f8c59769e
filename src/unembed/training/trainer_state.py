"""The trainer's state on disk: whole or absent, safetensors and JSON, no pickle.

`state/step-N/` holds weights, their average, the optimiser's moments and a small JSON; `state/latest.json`
names the newest whole one. It is written last, so that a kill at any moment leaves a state to resume from.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from unembed.errors import DataError, MismatchError
from unembed.storage import atomic_write, differences, digest_bytes, read_checked, read_json, write_json
from unembed.training.training_precision import TrainingPrecision, Wanted, choose_training_precision

LATEST = "latest.json"
_START_AGAIN = "Start again in another folder, or restore this file from a copy."


class Progress(BaseModel):
    """Where a run stands."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: int = 0  # updates done
    seconds: float = 0.0  # of training, over all sittings
    samples: int = 0
    best: float | None = None  # of what the run selects by; higher is better
    since_best: int = 0  # validations without a better one
    batch: int | None = None  # the batch that was found to fit
    precision: TrainingPrecision | None = None  # that the run began with; None: before this was recorded


def started(restored: Progress | None, wanted: Wanted, device: torch.device) -> Progress:
    """Where a run begins or goes on. It goes on in the precision that it began with, on any processor."""
    progress = restored or Progress()
    if progress.precision is None:
        # Before it was recorded, `auto` was float32 on every processor.
        asked = wanted if restored is None or wanted != "auto" else "fp32"
        progress = progress.model_copy(update={"precision": choose_training_precision(asked, device)})
    return progress


class Pointer(BaseModel):
    """latest.json: which state is the newest whole one, and of which run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str
    progress: Progress
    digests: dict[str, str]  # sha256 of each file
    run: dict[str, Any]  # what must be the same for the run to be continued


def save_state(
    folder: Path,
    progress: Progress,
    network: nn.Module,
    average: nn.Module,
    optimiser: torch.optim.Optimizer,
    identity: dict[str, Any],
) -> None:
    """Write a new state beside the old one, switch over, then drop the old one."""
    target = folder / f"step-{progress.step:08d}"
    is_new = not target.exists()
    files = {
        "weights": dict(network.state_dict()),
        "average": dict(average.state_dict()),
        "optimiser": _moments(network, optimiser),
    }
    digests = {}
    try:
        for name, tensors in files.items():
            content = save_tensors({key: value.detach().contiguous().cpu() for key, value in tensors.items()})
            with atomic_write(target / f"{name}.safetensors") as file:
                file.write(content)
            digests[name] = digest_bytes(content)
        pointer = Pointer(folder=target.name, progress=progress, digests=digests, run=identity)
        write_json(folder / LATEST, pointer.model_dump(mode="json"))
    except BaseException:
        if is_new:
            # Half a state is of no use, and where the disk is full it is in the way.
            shutil.rmtree(target, ignore_errors=True)
        raise
    for old in folder.glob("step-*"):
        if old != target:
            shutil.rmtree(old, ignore_errors=True)


def load_state(
    folder: Path,
    network: nn.Module,
    average: nn.Module,
    optimiser: torch.optim.Optimizer,
    identity: dict[str, Any],
) -> Progress | None:
    """Restore the newest state in place; None where there is none. Another run's state is refused."""
    if not (folder / LATEST).exists():
        return None
    try:
        pointer = Pointer.model_validate(read_json(folder / LATEST))
    except ValidationError as error:
        raise DataError(f"{folder / LATEST} is damaged: {error}", hint=_START_AGAIN) from error
    refuse_other_run(folder, pointer.run, identity)
    source = folder / pointer.folder
    tensors = {
        name: _read_tensors(source / f"{name}.safetensors", digest)
        for name, digest in pointer.digests.items()
    }
    try:
        network.load_state_dict(tensors["weights"])
        average.load_state_dict(tensors["average"])
        _restore_moments(network, optimiser, tensors["optimiser"])
    except (KeyError, RuntimeError) as error:
        raise DataError(f"{source} is not a state of this model: {error}", hint=_START_AGAIN) from error
    return pointer.progress


def refuse_other_run(folder: Path, saved: dict[str, Any], identity: dict[str, Any]) -> None:
    """Raise where data, tokenizer or configuration differ from those that the state was made with."""
    changed = differences(saved, identity)
    if changed:
        raise MismatchError(
            f"{folder.parent} holds a run with other settings: {'; '.join(changed)}.",
            hint="Use the settings of that run to resume it, or choose another output folder.",
        )


def _read_tensors(path: Path, digest: str) -> dict[str, Tensor]:
    content = read_checked(path, digest, hint=_START_AGAIN)
    try:
        return load_tensors(content)
    except SafetensorError as error:
        raise DataError(f"{path} is damaged: {error}", hint=_START_AGAIN) from error


def _moments(network: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's state under the parameters' names."""
    out = {}
    for name, parameter in network.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            out[f"{name}/{key}"] = torch.as_tensor(value)
    return out


def _restore_moments(
    network: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    parameters = dict(network.named_parameters())
    for key, value in tensors.items():
        name, _, kind = key.rpartition("/")
        parameter = parameters[name]
        where = torch.device("cpu") if kind == "step" and parameter.device.type == "cpu" else parameter.device
        optimiser.state[parameter][kind] = value.to(where)
