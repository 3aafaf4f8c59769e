"""`unembed model`: look at a trained model, make it smaller, share it."""

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
    "  unembed model push models/short somebody/minilm-inverter"
)
def command() -> None:
    """Look at a trained model, make it smaller, share it."""


@command.command(epilog="\b\nExample:\n  unembed model show runs/short/best")
@_MODEL
@json_option
def show(model: str, as_json: bool) -> None:
    """What MODEL (a folder or a hub id) is: its shape, whose vectors it inverts, how it was trained."""
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
    default="float16",
    show_default=True,
    help="How weights are stored (int8: the word tables, the rest float16); it computes in float32 always.",
)
@json_option
def export(model: str, output: Path, dtype: Storage, as_json: bool) -> None:
    """Write MODEL as a folder to ship: whole, or not at all."""
    from unembed.model.checkpoint import WEIGHTS, Checkpoint
    from unembed.train.save import save_checkpoint

    checkpoint = Checkpoint.from_pretrained(model)
    checkpoint.stored_as = dtype
    save_checkpoint(checkpoint, output)
    size = (output / WEIGHTS).stat().st_size
    if as_json:
        print_json({"folder": str(output), "bytes": size, "dtype": dtype})
    else:
        say(f"Wrote {output}: {size / 1e6:.1f} MB of {dtype} weights.")


@command.command(epilog="\b\nExample:\n  unembed model push models/short somebody/minilm-inverter --private")
@_MODEL
@click.argument("repository")
@click.option("--private", is_flag=True, help="Make the repository private.")
@json_option
def push(model: str, repository: str, private: bool, as_json: bool) -> None:
    """Upload MODEL to the Hugging Face hub as REPOSITORY (log in with 'hf auth login' first)."""
    from unembed.errors import UnavailableError
    from unembed.model.checkpoint import Checkpoint

    checkpoint = Checkpoint.from_pretrained(model)
    try:
        address = checkpoint.push_to_hub(repository, private=private)
    except Exception as error:
        raise UnavailableError(
            f"The hub did not take {repository}: {type(error).__name__}.",
            hint="Check the connection, and log in with: hf auth login",
        ) from error
    if as_json:
        print_json({"repository": repository, "address": address})
    else:
        say(f"Uploaded to {address}")


def _facts(checkpoint: Any) -> dict[str, object]:
    denoiser, config = checkpoint.denoiser.config, checkpoint.config
    training = config.training
    return {
        "encoder": config.encoder.name,
        "vector_dimension": denoiser.vector_dim,
        "vocabulary": denoiser.vocabulary,
        "longest_text": f"{denoiser.max_length} tokens",
        "length": "predicted" if denoiser.length == "given" else "fixed, the end is a token",
        "blocks": f"{denoiser.layers} x {denoiser.block.hidden}",
        "parameters": sum(parameter.numel() for parameter in checkpoint.denoiser.parameters()),
        "training_texts": training.get("texts", "unknown"),
        "training_steps": training.get("step", "unknown"),
        "training_minutes": round(training["seconds"] / 60, 1) if "seconds" in training else "unknown",
    }
