"""`unembed data`: show prepared data, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unembed.cli.console import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from unembed.data.collected import CollectedTexts
    from unembed.data.prepared import PreparedData
    from unembed.data.split import SplitName

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_BAR_WIDTH = 40
_MOST_BINS = 32


@click.group(epilog="\b\nExamples:\n  unembed data show data/short\n  unembed data verify data/short --deep")
def command() -> None:
    """Inspect and verify prepared data."""


@command.command(epilog="\b\nExample:\n  unembed data verify data/short")
@_FOLDER
@click.option(
    "--deep", is_flag=True, help="Also check that each sample's tokens, text, split and vector agree."
)
@json_option
def verify(folder: Path, deep: bool, as_json: bool) -> None:
    """Check every file of FOLDER against its manifest; damage is named, with exit code 4."""
    from unembed.data.verify import verify as run_verify
    from unembed.errors import DataError

    result = run_verify(folder, deep=deep, quiet=as_json)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "kind": result.kind,
                "ok": result.ok,
                "digest": result.digest,
                "files": result.files,
                "samples": result.samples if deep else None,
                "problems": result.problems,
            }
        )
    if not result.ok:
        named = [f"{entry['file']} {entry['problem']}" for entry in result.problems]
        more = f"; and {len(named) - 5} more" if len(named) > 5 else ""
        raise DataError(
            f"{len(named)} problem{'s' if len(named) > 1 else ''}: {'; '.join(named[:5])}{more}.",
            hint="To repair: " + "; ".join(dict.fromkeys(entry["repair"] for entry in result.problems[:5])),
        )
    if not as_json:
        samples = f", {result.samples:,} samples" if deep else ""
        say(f"{folder} is whole: {result.files:,} files{samples}, digest {result.digest}.")


@command.command(epilog="\b\nExample:\n  unembed data show data/short --samples 5")
@_FOLDER
@click.option("--samples", type=click.IntRange(min=0), default=3, show_default=True, help="Texts to show.")
@json_option
def show(folder: Path, samples: int, as_json: bool) -> None:
    """Show what FOLDER holds: counts, lengths, how it was made, a few samples."""
    from unembed.data.collected import CollectedTexts
    from unembed.data.manifest import read_content
    from unembed.data.prepared import PreparedData

    if read_content(folder).get("kind") == "texts":
        texts = CollectedTexts.open(folder)
        _show_texts(folder, texts, texts.read(0, samples), as_json=as_json)
    else:
        _show_prepared(PreparedData.open(folder), samples, as_json=as_json)


@command.command(epilog="\b\nExample:\n  unembed data texts data/short --split test > held-out.txt")
@_FOLDER
@click.option(
    "--split",
    type=click.Choice(["train", "validation", "test"]),
    default="test",
    show_default=True,
    help="Which side of the data.",
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.  [default: all]")
@json_option
def texts(folder: Path, split: SplitName, limit: int | None, as_json: bool) -> None:
    """Print the texts of a split of FOLDER, one a line: for measuring elsewhere on what was held out."""
    from unembed.data.prepared import PreparedData

    side = PreparedData.open(folder).split(split)
    few = range(len(side) if limit is None else min(limit, len(side)))
    if as_json:
        rows = zip(side.languages(few), side.texts(few), strict=True)
        print_json([{"language": language, "text": text} for language, text in rows])
        return
    for text in side.texts(few):
        click.echo(text)


def _show_texts(folder: Path, texts: CollectedTexts, shown: list[tuple[str, str]], *, as_json: bool) -> None:
    manifest = texts.manifest
    if as_json:
        summary = manifest.model_dump(mode="json", exclude={"files"})
        samples = [{"text": text, "language": language} for text, language in shown]
        print_json({"folder": str(folder), "digest": texts.digest, **summary, "samples": samples})
        return
    click.echo(f"{len(texts):,} collected texts in {folder}\n")
    print_table(("language", "texts"), [(name, f"{count:,}") for name, count in manifest.languages.items()])
    _echo_samples([(language, text) for text, language in shown])


def _show_prepared(data: PreparedData, samples: int, *, as_json: bool) -> None:
    from unembed.data.split import SPLITS

    manifest = data.manifest
    train = data.split("train")
    few = range(min(samples, len(train)))
    shown = [
        {"language": language, "text": text}
        for language, text in zip(train.languages(few), train.texts(few), strict=True)
    ]
    counts = _length_counts(data)
    if as_json:
        summary = manifest.model_dump(mode="json", exclude={"shards", "tokenizer_file"})
        print_json(
            {
                "folder": str(data.folder),
                "digest": data.digest,
                **summary,
                "shards": len(manifest.shards),
                "lengths": {length: count for length, count in enumerate(counts) if count},
                "samples": shown,
            }
        )
        return
    rows = [
        (language, *(f"{by_split[split]:,}" for split in SPLITS))
        for language, by_split in manifest.languages.items()
    ]
    rows.append(("all", *(f"{manifest.counts[split]:,}" for split in SPLITS)))
    click.echo(f"Training data in {data.folder}\n")
    for name, value in _facts(data):
        click.echo(f"{name:<11}{value}")
    click.echo()
    print_table(("language", *SPLITS), rows)
    click.echo()
    print_table(("tokens", "samples", ""), _histogram(counts))
    _echo_samples([(row["language"], row["text"]) for row in shown])


def _echo_samples(samples: list[tuple[str, str]]) -> None:
    """Line by line and as they are: a table would take brackets in a text for markup."""
    if samples:
        click.echo("\nSamples")
    for language, text in samples:
        click.echo(f"  {language}  {text}")


def _facts(data: PreparedData) -> list[tuple[str, str]]:
    manifest = data.manifest
    encoder, tokenizer = manifest.encoder, manifest.tokenizer
    dropped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in manifest.dropped.items())
    size = sum(file.bytes for file in manifest.files)
    return [
        ("encoder", f"{encoder.name}, {encoder.dimension} dimensions, weights {encoder.digest[:12]}"),
        ("tokenizer", f"{tokenizer.name}, {tokenizer.vocabulary:,} entries, {tokenizer.digest[:12]}"),
        ("cut after", f"{manifest.seq_len} tokens"),
        ("dropped", dropped or "none"),
        ("realigned", f"{manifest.realigned:,}"),
        ("seed", str(manifest.seed)),
        ("size", f"{size / 1e6:,.1f} MB in {len(manifest.shards):,} shards"),
        ("digest", data.digest),
    ]


def _length_counts(data: PreparedData) -> list[int]:
    import numpy as np

    from unembed.data.split import SPLITS

    lengths = np.concatenate([data.split(name).lengths for name in SPLITS])
    return [int(count) for count in np.bincount(lengths)]


def _histogram(counts: list[int]) -> list[tuple[str, str, str]]:
    """Rows of length, count and bar; long ranges are put together in bins of equal width."""
    first = next(length for length, count in enumerate(counts) if count)
    width = -(-(len(counts) - first) // _MOST_BINS)
    bins = [
        (low, min(low + width, len(counts)) - 1, sum(counts[low : low + width]))
        for low in range(first, len(counts), width)
    ]
    most = max(count for _, _, count in bins)
    return [
        (str(low) if low == high else f"{low}-{high}", f"{count:,}", "█" * round(_BAR_WIDTH * count / most))
        for low, high, count in bins
    ]
