"""`unembed evaluate`: how much a model recovers, beside the floors; the paper's tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import Function, build_config, options_from, trust_option
from unembed.evaluation.config import EvaluateConfig
from unembed.metrics.causal import DEFAULT as DEFAULT_LM
from unembed.trials.trials_config import TrialsConfig

if TYPE_CHECKING:
    from unembed.report import Report

# Fields that are lists of names or numbers, separated by commas.
_LISTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "metrics": ("NAME,...", str),
    "strategies": ("all|NAME,...", str),
    "remask": ("SHARE,...", float),
    "noise": ("SIGMA,...", float),
    "encoder_calls": ("CALLS,...", int),
    "denoising": ("RATIO,...", float),
    "words": ("K,...", int),
}
# The same of the trials of defences.
_TRIAL_LISTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "defences": ("all|NAME,...", str),
    "against": ("NAME,...", str),
    "known_pairs": ("N,...", int),
}
_OWN = ("known_length", "perplexity", "lengths")  # fields whose option has a form of its own

_FOLDER = click.Path(path_type=Path)
_OUTPUT_HELP = (
    "Folder to write; give the same one to resume.  [default: evaluations/..., named after what is measured]"
)

_EXAMPLES = """\b
Examples:
  unembed evaluate --model runs/compact/best --data data/short
  unembed evaluate --model M --data D --strategies all --remask 0,0.05,0.1,0.2
  unembed evaluate --model M --data D --lengths --noise 0,0.01,0.03,0.1,0.3,1
  unembed evaluate --data D --checkpoints runs/compact/milestones
  unembed evaluate --models runs/minilm/best=data/minilm,runs/mpnet/best=data/mpnet
  unembed evaluate --data D --samples 200 --encoder-calls 0,50,200,1000,5000
  unembed evaluate --data D --defences all --retrieval beir/scifact --sts stsb/test.tsv
  unembed evaluate --render evaluations/best-1a2b3c4d
"""


def _help(field: str) -> str:
    fields = EvaluateConfig.model_fields | TrialsConfig.model_fields
    return fields[field].description or ""


def _list_options(lists: dict[str, tuple[str, Callable[[str], Any]]]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for name, (metavar, kind) in reversed(lists.items()):
            flag = "--" + name.replace("_", "-")
            option = click.option(flag, metavar=metavar, callback=_split(kind), help=_help(name))
            function = option(function)
        return function

    return decorate


def _split(kind: Callable[[str], Any]) -> Callable[..., tuple[Any, ...] | None]:
    def callback(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        try:
            return tuple(kind(part.strip()) for part in value.split(",") if part.strip())
        except ValueError as error:
            raise click.BadParameter(f"'{value}' is not a list of numbers like 0,0.05,0.1.") from error

    return callback


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.option("--model", metavar="MODEL", help="Folder or hub id of the model.  [default: the bundled one]")
@click.option("--data", type=_FOLDER, help="Prepared data whose vectors are inverted.")
@options_from(EvaluateConfig, skip=(*_LISTS, *_OWN))
@click.option("--known-length/--unknown-length", default=None, help=_help("known_length"))
@_list_options(_LISTS)
@click.option("--lengths", is_flag=True, default=None, help=_help("lengths"))
@click.option(
    "--perplexity",
    is_flag=False,
    flag_value=DEFAULT_LM,
    metavar="[LM]",
    help=f"{_help('perplexity')}  [without a value: {DEFAULT_LM}]",
)
@trust_option
@click.option("--models", metavar="MODEL[=DATA],...", help="Compare models, each on its data (table 1).")
@click.option(
    "--checkpoints",
    metavar="FOLDER,...",
    help="Compare milestones of a training run (table 7): model folders, or a folder of them.",
)
@_list_options(_TRIAL_LISTS)
@options_from(TrialsConfig, skip=tuple(_TRIAL_LISTS))
@click.option("-o", "--output", type=_FOLDER, help=_OUTPUT_HELP)
@click.option("--config", type=_FOLDER, help="YAML file with these settings.")
@click.option("--plots/--no-plots", default=True, help="Draw PNG and SVG.  [default: plots]")
@click.option("--render", type=_FOLDER, metavar="FOLDER", help="Only render this folder's summary again.")
@json_option
def command(
    model: str | None,
    data: Path | None,
    trust_remote_code: bool,
    models: str | None,
    checkpoints: str | None,
    output: Path | None,
    config: Path | None,
    plots: bool,
    render: Path | None,
    as_json: bool,
    **typed: Any,
) -> None:
    """Measure how much a model recovers from vectors it has not seen, beside the floors.

    Token accuracy is free-running: decoded from all positions masked. One row per text is appended to
    rows.jsonl as it is measured; the same command resumes after an interruption.
    """
    if render is not None:
        _render(render, plots=plots, as_json=as_json)
        return
    own = {name: typed.pop(name) for name in TrialsConfig.model_fields}
    settings, trials = build_config(EvaluateConfig, typed, file=config), build_config(TrialsConfig, own)
    if trials.defences:
        if models or checkpoints or data is None:
            raise click.UsageError("--defences measures one model on one --data.")
        from unembed.trials.run_trials import run_trials

        announce = None if as_json else say
        how: dict[str, Any] = {"trust_remote_code": trust_remote_code, "plots": plots, "quiet": as_json}
        _print(run_trials(model, data, output, settings, trials, announce=announce, **how), as_json=as_json)
        return
    from unembed.evaluation import evaluate
    from unembed.evaluation.targets import expand_checkpoints, parse_models

    compared = parse_models(models, data)
    milestones = expand_checkpoints(checkpoints)
    if data is None:
        if not compared:
            raise click.UsageError("Missing option '--data': the prepared data to measure on.")
        data = Path(compared[0][1])
    if model is None and compared:
        model, data = compared[0][0], Path(compared[0][1])
    if model is None and milestones:
        model = milestones[-1]  # the last one is the one that would be used
    report = evaluate(
        model,
        data,
        output,
        settings,
        models=compared,
        checkpoints=milestones,
        trust_remote_code=trust_remote_code,
        plots=plots,
        quiet=as_json,
        announce=None if as_json else say,
    )
    _print(report, as_json=as_json)


def _render(folder: Path, *, plots: bool, as_json: bool) -> None:
    from unembed.report import read_report, render

    report = read_report(folder)
    render(report, folder, plots=plots)
    _print(report, as_json=as_json)
    if not as_json:
        say(f"Tables and plots are in {folder}.")


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    from unembed.report.terminal import print_report

    print_report(report)
