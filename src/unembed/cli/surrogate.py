"""`unembed surrogate`: a small network that imitates an encoder, to be guided by where the encoder is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import build_config, options_from

if TYPE_CHECKING:
    from unembed.training.trainer_state import Progress

from unembed.training.surrogate_config import SurrogateTrainConfig

_EXAMPLES = """\b
Examples:
  unembed surrogate --data data/short -o runs/surrogate
  unembed surrogate --data data/short --start potion --steps 20000 -o runs/surrogate
  unembed invert --embedding vectors.npy --strategy guided --encoder runs/surrogate/latest
Run the same command again after an interruption: it goes on where the last saved state ends.
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@options_from(SurrogateTrainConfig, skip=("output",))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help=SurrogateTrainConfig.model_fields["output"].description,
)
@click.option("--config", type=click.Path(path_type=Path), help="YAML file with these settings.")
@json_option
def command(config: Path | None, as_json: bool, **typed: Any) -> None:
    """Train a surrogate: learn an encoder's vectors from prepared data, without the encoder.

    The result, latest/ in the output folder, is an encoder like others: it can guide a search
    (`unembed invert --strategy guided --encoder FOLDER`) at no call of the real one.
    """
    settings = build_config(SurrogateTrainConfig, typed, file=config)
    from unembed.progress import progress_bar
    from unembed.training.surrogate_training import train_surrogate

    done = 0
    last: dict[str, Any] = {}
    with progress_bar("Imitating", total=settings.steps, unit="steps", quiet=as_json) as bar:

        def watch(kind: str, progress: Progress, figures: dict[str, float]) -> None:
            nonlocal done
            bar.advance(progress.step - done)
            done = progress.step
            last.update(step=progress.step, seconds=round(progress.seconds, 1), **{kind: figures["cosine"]})
            if kind == "validation":
                bar.describe(f"Imitating, cosine {figures['cosine']:.4f}")
                say(f"step {progress.step:,}: cosine to the encoder's vectors {figures['cosine']:.4f}")

        train_surrogate(settings, watch)
    folder = settings.output / "latest"
    if as_json:
        print_json({"surrogate": str(folder), **last})
    else:
        say(f"The surrogate is in {folder}. Be guided by it: --strategy guided --encoder {folder}")
