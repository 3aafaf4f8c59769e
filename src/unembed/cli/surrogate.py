"""`unembed surrogate`: a small network that stands in for an encoder where the encoder cannot be called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import build_config, options_from

if TYPE_CHECKING:
    from unembed.model.checkpoint import Checkpoint
    from unembed.training.trainer_state import Progress

from unembed.training.surrogate_config import SurrogateTrainConfig

_EXAMPLES = """\b
Examples:
  unembed surrogate --data data/short --model runs/short/best
  unembed surrogate --data data/short --start potion --steps 20000 -o runs/surrogate
  unembed invert --embedding vectors.npy --strategy guided --encoder runs/surrogate/latest
Run the same command again after an interruption: it resumes from the last saved state.
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@options_from(SurrogateTrainConfig, skip=("output",))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help=f"{SurrogateTrainConfig.model_fields['output'].description}  [default: MODEL-surrogate]",
)
@click.option(
    "--model", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of a model: the finished surrogate becomes a part of it.",
)  # fmt: skip
@click.option("--config", type=click.Path(path_type=Path), help="YAML file with these settings.")
@json_option
def command(config: Path | None, model: Path | None, as_json: bool, **typed: Any) -> None:
    """Train a surrogate: learn an encoder's vectors from prepared data, without the encoder.

    The result, latest/ in the output folder, is an encoder like others: it can guide a search
    (`unembed invert --strategy guided --encoder FOLDER`) without a call of the real one.
    """
    if model is not None and typed["output"] is None and config is None:
        typed["output"] = model.resolve().with_name(f"{model.resolve().name}-surrogate")
    settings = build_config(SurrogateTrainConfig, typed, file=config)
    from unembed.progress import progress_bar
    from unembed.training.surrogate_training import train_surrogate

    checkpoint = None if model is None else _model_of(model, settings)
    done = 0
    last: dict[str, Any] = {}
    with progress_bar("Training", total=settings.steps, unit="steps", quiet=as_json) as bar:

        def watch(kind: str, progress: Progress, figures: dict[str, float]) -> None:
            nonlocal done
            bar.advance(progress.step - done)
            done = progress.step
            last.update(step=progress.step, seconds=round(progress.seconds, 1), **{kind: figures["cosine"]})
            if kind == "validation":
                bar.describe(f"Training, cosine {figures['cosine']:.4f}")
                say(f"step {progress.step:,}: cosine to the encoder's vectors {figures['cosine']:.4f}")

        trained = train_surrogate(settings, watch)
    folder = settings.output / "latest"
    name = str(folder)
    if checkpoint is not None and model is not None:
        checkpoint.add_surrogate(trained)
        folder, name = model / "surrogate", "surrogate"
    if as_json:
        print_json({"surrogate": str(folder), **last})
    else:
        say(f"The surrogate is in {folder}. Search with it: --strategy guided --encoder {name}")


def _model_of(folder: Path, settings: SurrogateTrainConfig) -> Checkpoint:
    """The model that the surrogate is for; other vectors than its own are refused before hours are spent."""
    from unembed.data.prepared import PreparedData
    from unembed.model.checkpoint import Checkpoint

    checkpoint = Checkpoint.from_pretrained(folder)
    checkpoint.refuse_surrogate_of(PreparedData.open(settings.data[0]).manifest.encoder)
    return checkpoint
