"""`unembed model`: show a trained model, make it smaller, share it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from unembed.weights import Storage

_MODEL = click.argument("model")


@click.group(
    epilog="\b\nExamples:\n  unembed model show runs/short/best\n"
    "  unembed model export runs/short/best -o models/short --dtype float16\n"
    "  unembed model card models/short --evaluation 'Test texts=evaluations/short' --licence cc-by-4.0\n"
    "  unembed model push models/short somebody/minilm-inverter"
)
def command() -> None:
    """Show, shrink, export and share a trained model."""


@command.command(epilog="\b\nExample:\n  unembed model show runs/short/best")
@_MODEL
@json_option
def show(model: str, as_json: bool) -> None:
    """Show MODEL (a folder or a hub id): its shape, its encoder, how it was trained."""
    from unembed.model.checkpoint import Checkpoint

    checkpoint = Checkpoint.from_pretrained(model)
    facts = _facts(checkpoint)
    if as_json:
        print_json({**facts, "config": checkpoint.config.model_dump(mode="json")})
        return
    print_table(["", ""], [[name.replace("_", " "), value] for name, value in facts.items()])


@command.command(
    epilog="\b\nExample:\n  unembed model export runs/short/best -o models/short --dtype float16"
)
@_MODEL
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float16", "int8"]),
    help="How weights are stored (int8: matrices, the rest float16); the model computes in float32.  "
    "[default: as in MODEL]",
)
@click.option(
    "--repeat-penalty",
    type=click.FloatRange(min=0.0),
    help="Nats that a word loses if the text already has it: fewer repeated words.  [default: as in MODEL]",
)
@json_option
def export(
    model: str, output: Path, dtype: Storage | None, repeat_penalty: float | None, as_json: bool
) -> None:
    """Write MODEL, with all its parts, to a new folder."""
    from unembed.model.checkpoint import Checkpoint
    from unembed.model.parts import WEIGHTS

    checkpoint = Checkpoint.from_pretrained(model)
    if repeat_penalty is not None:
        checkpoint = checkpoint.penalising_repeats(repeat_penalty)
    if dtype is not None:
        checkpoint.stored_as = dtype
    checkpoint.save(output)
    size = (output / WEIGHTS).stat().st_size
    if as_json:
        print_json({"folder": str(output), "bytes": size, "dtype": checkpoint.stored_as})
    else:
        say(f"Wrote {output}: {size / 1e6:.1f} MB of {checkpoint.stored_as} weights.")


@command.command(
    epilog="\b\nExample:\n  unembed model card models/short --evaluation 'Test texts=evaluations/short' "
    "--about about.md"
)
@click.argument("folder", metavar="MODEL", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--evaluation", "evaluations", multiple=True, metavar="TITLE=FOLDER",
    help="A title, and the folder that 'unembed evaluate' wrote; repeat for more.",
)  # fmt: skip
@click.option(
    "--about", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Markdown file on the texts, their licences and the machine.",
)  # fmt: skip
@click.option(
    "--licence", help="Licence to publish the model under: what its texts and its encoder allow.  "
    "[default: as in MODEL, or unknown]",
)  # fmt: skip
@click.option("--examples", type=click.IntRange(min=0), default=10, show_default=True, help="Texts to show.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed by which they are drawn.")
@json_option
def card(
    folder: Path,
    evaluations: tuple[str, ...],
    about: Path | None,
    licence: str | None,
    examples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Write the README.md of MODEL, a folder: its card, with its licence and its evaluations' figures."""
    from unembed.evaluation.evaluated_card import evaluated_card
    from unembed.model.checkpoint import Checkpoint
    from unembed.model.parts import CARD

    named = [part.partition("=") for part in evaluations]
    for title, equals, path in named:
        if not (title and equals and path):
            raise click.BadParameter(f"'{title}' is not TITLE=FOLDER.", param_hint="--evaluation")
    checkpoint = Checkpoint.from_pretrained(folder)
    if licence is not None:
        checkpoint.config = checkpoint.config.model_copy(update={"licence": licence})
    text = evaluated_card(
        checkpoint,
        [(title, Path(path)) for title, _, path in named],
        about="" if about is None else about.read_text(encoding="utf-8"),
        examples=examples,
        seed=seed,
    )
    checkpoint.write_card(text)
    if as_json:
        print_json({"card": str(folder / CARD), "evaluations": len(named)})
    else:
        say(f"Wrote {folder / CARD}.")


@command.command(epilog="\b\nExample:\n  unembed model push models/short somebody/minilm-inverter --private")
@_MODEL
@click.argument("repository")
@click.option("--private", is_flag=True, help="Make the repository private.")
@json_option
def push(model: str, repository: str, private: bool, as_json: bool) -> None:
    """Upload MODEL to the Hugging Face hub as REPOSITORY (log in with 'hf auth login' first)."""
    from unembed.model.checkpoint import Checkpoint

    address = Checkpoint.from_pretrained(model).push_to_hub(repository, private=private)
    if as_json:
        print_json({"repository": repository, "address": address})
    else:
        say(f"Uploaded to {address}")


def _facts(checkpoint: Any) -> dict[str, object]:
    denoiser, config = checkpoint.denoiser.config, checkpoint.config
    training = config.training
    return {
        "encoder": config.encoder.name,
        "licence": config.licence or "unknown",
        "encoder_licence": config.encoder.licence,
        "vector_dimension": denoiser.vector_dim,
        "vocabulary": denoiser.vocabulary,
        "longest_text": f"{denoiser.max_length} tokens",
        "length": "predicted" if denoiser.length == "given" else "fixed, the end is a token",
        "blocks": f"{denoiser.layers} x {denoiser.block.hidden}",
        "parameters": sum(parameter.numel() for parameter in checkpoint.denoiser.parameters()),
        "training_texts": training.get("texts", "unknown"),
        "training_steps": training.get("step", "unknown"),
        "training_minutes": round(training["seconds"] / 60, 1) if "seconds" in training else "unknown",
        "stored_as": checkpoint.stored_as,
        "phrases": checkpoint.has_phrases,
        "surrogate": checkpoint.has_surrogate,
    }
