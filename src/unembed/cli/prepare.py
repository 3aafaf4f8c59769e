"""`unembed prepare`: texts into training shards, in one go or stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.cluster_options import cluster_options, take_cluster
from unembed.cli.console import json_option, print_json, print_table, say
from unembed.cli.options import Function, build_config, options_from, trust_option
from unembed.cluster.cluster_config import ClusterConfig
from unembed.data.config import CollectConfig, EncodeConfig, PrepareConfig

if TYPE_CHECKING:
    from unembed.data.collected import CollectedTexts
    from unembed.data.prepared import PreparedData

_FOLDER = click.Path(path_type=Path)
_OUTPUT_HELP = "Folder to write; give the same one to continue after an interruption."
_OUTPUT = click.option("-o", "--output", type=_FOLDER, required=True, help=_OUTPUT_HELP)
_CONFIG = click.option("--config", type=click.Path(path_type=Path), help="YAML file with these settings.")

_EXAMPLES = """\b
Examples:
  unembed prepare --source en=corpus.txt.gz --limit 20000 --seq-len 32 -o data/short
  unembed prepare --source de=de.jsonl.gz#body --source fr=fr.parquet --quota de=50000 \\
      --encoder use-multilingual -o data/two-languages
  unembed prepare collect --source en=hub:c4 --limit 2000000 -o data/c4
  unembed prepare encode data/c4 --tokenizer gpt2 --seq-len 32 -o data/c4-minilm
"""


def _collect_options(function: Function) -> Function:
    fields = CollectConfig.model_fields
    function = options_from(CollectConfig, skip=("source", "quota"))(function)
    for name, metavar in (("quota", "LANG=N"), ("source", "[LANG=]PATH")):
        help_text = fields[name].description
        function = click.option(f"--{name}", multiple=True, metavar=metavar, help=help_text)(function)
    return function


def _encode_options(function: Function) -> Function:
    for option in (
        click.option("--dry-run", is_flag=True, help="Only say how long encoding would take, and its cost."),
        cluster_options,
        trust_option,
        click.option("--device", help="Where the encoder runs: cpu, cuda, mps.  [default: the encoder's]"),
        options_from(EncodeConfig),
    ):
        function = option(function)
    return function


@click.group(invoke_without_command=True, epilog=_EXAMPLES, no_args_is_help=True)
@_collect_options
@_encode_options
@click.option("-o", "--output", type=_FOLDER, help=_OUTPUT_HELP)
@_CONFIG
@json_option
def command(
    output: Path | None,
    config: Path | None,
    as_json: bool,
    device: str | None,
    trust_remote_code: bool,
    dry_run: bool,
    **typed: Any,
) -> None:
    """Turn texts into training shards for an encoder.

    Runs both stages: `collect` the texts (deduplicated, shuffled), then `encode` them (tokens and
    vectors that agree, split into train, validation and test). Run the same command again after an
    interruption: it continues where it stopped.
    """
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        if output or config or any(value not in (None, ()) for value in typed.values()):
            name = ctx.invoked_subcommand
            raise click.UsageError(f"Put the options after '{name}': unembed prepare {name} ...", ctx)
        return
    from unembed.data.collect import collect as run_collect
    from unembed.data.verify import TEXTS

    if output is None:
        raise click.UsageError("Missing option '-o' / '--output': the folder to write.", ctx)
    cluster = take_cluster(typed)
    settings = build_config(PrepareConfig, _given(typed), file=config)
    texts = run_collect(settings.collect(), output / TEXTS, quiet=as_json)
    say(f"Collected {len(texts):,} texts in {output / TEXTS}.")
    how = {"device": device, "trust_remote_code": trust_remote_code}
    _encode(settings.encode(), output / TEXTS, output, cluster, dry_run=dry_run, as_json=as_json, **how)


@command.command(
    epilog="\b\nExample:\n  unembed prepare collect --source en=a.txt.gz --source de=b.jsonl -o data/texts"
)
@_collect_options
@_OUTPUT
@_CONFIG
@json_option
def collect(output: Path, config: Path | None, as_json: bool, **typed: Any) -> None:
    """Stage 1: collect texts for any encoder: filter, drop duplicates, fill quotas, shuffle."""
    from unembed.data.collect import collect as run_collect

    settings = build_config(CollectConfig, _given(typed), file=config)
    texts = run_collect(settings, output, quiet=as_json)
    _print_texts(texts, as_json=as_json)


@command.command(
    epilog="\b\nExample:\n  unembed prepare encode data/texts --encoder minilm --seq-len 32 -o data/short"
)
@click.argument("texts", type=click.Path(path_type=Path))
@_encode_options
@_OUTPUT
@_CONFIG
@json_option
def encode(
    texts: Path,
    output: Path,
    config: Path | None,
    as_json: bool,
    device: str | None,
    trust_remote_code: bool,
    dry_run: bool,
    **typed: Any,
) -> None:
    """Stage 2: tokenise and encode the collected TEXTS into shards."""
    cluster = take_cluster(typed)
    settings = build_config(EncodeConfig, typed, file=config)
    how = {"device": device, "trust_remote_code": trust_remote_code}
    _encode(settings, texts, output, cluster, dry_run=dry_run, as_json=as_json, **how)


def _encode(
    settings: EncodeConfig,
    texts: Path,
    output: Path,
    cluster: ClusterConfig,
    *,
    dry_run: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Stage 2, by this process or by a cluster's workers; `how`: on which device, and whom to trust."""
    from unembed.data.encode import encode as run_encode

    if cluster.on is None and not dry_run:
        _print_prepared(run_encode(settings, texts, output, quiet=as_json, **how), as_json=as_json)
        return
    from unembed.cluster.encode_shards import ClusterShards

    make = ClusterShards(cluster, **how)
    if dry_run:
        found = make.forecast(settings, texts)
        if as_json:
            print_json(found.model_dump())
        else:
            click.echo(f"About {found.line()}")
        return
    data = run_encode(settings, texts, output, quiet=as_json, make=make, **how)
    _print_prepared(data, as_json=as_json)
    if make.throughput is not None and not as_json:
        say(make.throughput.line())


def _given(typed: dict[str, Any]) -> dict[str, Any]:
    """An option that can be repeated and was not typed is empty; that must not override the file."""
    return {name: None if value == () else value for name, value in typed.items()}


def _print_texts(texts: CollectedTexts, *, as_json: bool) -> None:
    manifest = texts.manifest
    if as_json:
        print_json(
            {
                "folder": str(texts.folder),
                "digest": texts.digest,
                **manifest.model_dump(mode="json", include={"texts", "languages", "dropped", "seed"}),
            }
        )
        return
    print_table(("language", "texts"), [(name, f"{count:,}") for name, count in manifest.languages.items()])
    _say_dropped(manifest.dropped)
    say(f"{len(texts):,} texts in {texts.folder}. Next: unembed prepare encode {texts.folder} -o FOLDER")


def _print_prepared(data: PreparedData, *, as_json: bool) -> None:
    manifest = data.manifest
    if as_json:
        fields = {"counts", "languages", "dropped", "realigned", "encoder", "tokenizer", "seq_len", "seed"}
        summary = manifest.model_dump(mode="json", include=fields)
        print_json({"folder": str(data.folder), "digest": data.digest, **summary})
        return
    print_table(("split", "samples"), [(name, f"{count:,}") for name, count in manifest.counts.items()])
    _say_dropped(manifest.dropped)
    say(f"Training data for {manifest.encoder.name} in {data.folder}.")
    say(f"Next: unembed data show {data.folder}")


def _say_dropped(dropped: dict[str, int]) -> None:
    if dropped:
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items())
        say(f"Dropped: {reasons}.")
