"""`unembed train`: from prepared data to a model that inverts its encoder's vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import SectionedCommand, build_config, options_from
from unembed.cli.training_display import TrainingDisplay
from unembed.extras import require
from unembed.training.config import SECTIONS, TrainConfig
from unembed.training.presets import find_config, packaged_configs

if TYPE_CHECKING:
    from unembed.training.trainer_state import Progress

_EPILOG = """\b
Examples:
  unembed train --config compact-minilm --data data/short --minutes 10 -o runs/short
  unembed train --config my.yaml --data data/a --data data/b -o runs/both
  accelerate launch -m unembed train --config paper-qwen3 --data data/c4-qwen3 -o runs/qwen3
  unembed train --plot runs/short
Run the same command again after an interruption: it resumes from the last saved state.
"""


@click.command(cls=SectionedCommand, epilog=_EPILOG, no_args_is_help=True)
@options_from(TrainConfig, skip=("output",), sections=SECTIONS)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help=TrainConfig.model_fields["output"].description
)
@click.option(
    "--config",
    metavar="NAME|FILE",
    help=f"Start from these settings; typed options come on top. Names: {', '.join(packaged_configs())}.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FOLDER", help="Only draw the curves of a run again."
)
@json_option
def command(config: str | None, plot: Path | None, as_json: bool, **typed: Any) -> None:
    """Train an inverter on prepared data, or resume a run.

    Writes to the output folder: best/ and latest/ (models), log.jsonl, curves.png and curves.svg, and
    state/ (to resume from). Ctrl-C finishes the step, saves, and exits with 130.
    """
    for package in ("accelerate", "matplotlib"):
        # Now, not after the hours of training that end with a plot.
        require(package, extra="train", purpose="Training")
    if plot is not None:
        _draw(plot, as_json=as_json)
        return
    settings = build_config(TrainConfig, typed, file=None if config is None else find_config(config))

    from accelerate import PartialState

    from unembed.training.training_loop import train

    with TrainingDisplay(settings, silent=as_json) as display:

        def watch(kind: str, progress: Progress, figures: dict[str, Any]) -> None:
            if as_json and kind != "step":
                event = {
                    "kind": kind,
                    "step": progress.step,
                    "seconds": round(progress.seconds, 1),
                    **figures,
                }
                click.echo(json.dumps(event, ensure_ascii=False))
            display(kind, progress, figures)

        train(settings, watch)
    if PartialState().is_main_process:
        _draw(settings.output, as_json=as_json)


def _draw(folder: Path, *, as_json: bool) -> None:
    from unembed.training.curves import draw_curves

    drawn = [str(path) for path in draw_curves(folder)]
    best = folder / "best"
    if as_json:
        print_json({"kind": "curves", "files": drawn, "model": str(best) if best.exists() else None})
        return
    say(f"Curves: {', '.join(drawn)}")
    if best.exists():
        say(f"The best model is in {best}. Try it: unembed invert --model {best} --help")
