"""Where the models of a comparison are, as people type it."""

from __future__ import annotations

from pathlib import Path

from unembed.errors import UsageError
from unembed.model.parts import CONFIG
from unembed.storage import read_json


def parse_models(typed: str | None, data: Path | None) -> list[tuple[str, Path]]:
    """`MODEL[=DATA],...`: each model with its data, or with the one that was given for all."""
    out = []
    for part in _parts(typed):
        model, _, own = part.partition("=")
        if own:
            out.append((model, Path(own)))
        elif data is not None:
            out.append((model, data))
        else:
            raise UsageError(
                f"On which data is the model {model} to be measured?",
                hint=f"Write {model}=DATA, or give --data.",
            )
    return out


def expand_checkpoints(typed: str | None) -> list[str]:
    """`FOLDER,...`: model folders as they are, a folder of model folders in the order of training."""
    out: list[str] = []
    for part in _parts(typed):
        folder = Path(part)
        if (folder / CONFIG).exists() or not folder.is_dir():
            out.append(part)
            continue
        inside = sorted(child for child in folder.iterdir() if (child / CONFIG).exists())
        if not inside:
            raise UsageError(
                f"There is no model in {folder}.", hint="Give model folders, or a folder that holds some."
            )
        out += [str(child) for child in sorted(inside, key=_step)]
    return list(dict.fromkeys(out))


def _parts(typed: str | None) -> list[str]:
    return [part.strip() for part in (typed or "").split(",") if part.strip()]


def _step(folder: Path) -> int:
    config = read_json(folder / CONFIG)
    training = config.get("training") if isinstance(config, dict) else None
    step = training.get("step") if isinstance(training, dict) else None
    return step if isinstance(step, int) else 0
