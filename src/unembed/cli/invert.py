"""`unembed invert`: texts out of vectors; or a text, its vector, and the text that comes back."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.cluster_options import cluster_options, take_cluster
from unembed.cli.console import json_option, say
from unembed.cli.options import build_config, options_from, trust_option
from unembed.errors import DataError
from unembed.invert_config import InvertConfig
from unembed.search.settings import GuidedSettings

if TYPE_CHECKING:
    from unembed.cli.search_bar import Interrupts, SearchBar
    from unembed.inverter import Inverter

GUIDED = "guided"
OLD_FLAGS = {
    "strategy": ("-s",),
    "num_lengths": ("--candidates",),
    "batch_size": ("--batch",),
    "kv_cache": ("--reuse/--no-reuse",),
}
SEARCH_OPTIONS = ("max_encoder_calls", "seconds")  # options of the strategy that have flags of their own

_EXAMPLES = """\b
Examples:
  unembed invert "The cat sat on the mat."
  unembed invert "The cat sat on the mat." --watch
  unembed invert --embedding vectors.npy --n-best 3
  unembed invert --embedding vectors.parquet --field embedding -o texts.jsonl
  cat vectors.jsonl | unembed invert --embedding - --json
  unembed invert "The cat sat on the mat." --strategy guided --max-encoder-calls 500
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "-e", "--embedding", metavar="FILE",
    help="Vectors: .npy, .npz, Parquet, JSON lines, safetensors, a FAISS index; '-' for JSON lines on stdin; "
    "or a dataset: a folder of such files, or an address such as s3://bucket/folder.",
)  # fmt: skip
@click.option("--field", help="Array, column or key that holds the vectors, where there are several.")
@click.option("--id-field", help="Dataset: column or key of ids that the results are to carry.")
@click.option(
    "-m",
    "--model",
    help="Folder or hub id of a trained model, or an encoder that 'unembed encoders' has an inverter for.  "
    "[default: the bundled one]",
)
@options_from(
    InvertConfig, skip=("options", "lengths", "beginnings", "trace", "check", "bad_vectors"), also=OLD_FLAGS
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the strategy; repeatable."
)
@click.option(
    "--max-encoder-calls", type=click.IntRange(min=0), metavar="N",
    help="Guided: texts to embed per vector, at most.  [default: 2000]",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(min=0), metavar="S",
    help="Guided: end the search after S seconds, for all vectors together.",
)  # fmt: skip
@click.option(
    "--length", "lengths", metavar="N[,N]...", help="Tokens of the text, if known: one, or one per vector."
)
@click.option(
    "--beginning", "beginnings", multiple=True, metavar="WORDS",
    help="First words of the text, if known; repeated: one per vector.",
)  # fmt: skip
@click.option("--device", default="cpu", show_default=True, help="Where the model runs: cpu, cuda, mps.")
@trust_option
@click.option(
    "--watch", is_flag=True, help="Show every denoising step, or every nearer text of a guided search."
)
@cluster_options
@click.option(
    "--part-rows", type=click.IntRange(min=1), default=4096, show_default=True,
    help="Dataset: rows of a part; what a killed worker has to do again.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Dataset: only say how long it would take, and at what cost.")
@click.option(
    "-o", "--output",
    help="Write .jsonl or .parquet; of a dataset also a folder of Parquet parts, or its address. Run the "
    "same command again to resume.",
)  # fmt: skip
@json_option
def command(
    texts: tuple[str, ...],
    embedding: str | None,
    field: str | None,
    model: str | None,
    lengths: str | None,
    beginnings: tuple[str, ...],
    device: str,
    trust_remote_code: bool,
    watch: bool,
    id_field: str | None,
    part_rows: int,
    dry_run: bool,
    output: str | None,
    as_json: bool,
    **typed: Any,
) -> None:
    """Recover texts from vectors.

    With TEXT: the model's own encoder embeds it, the model inverts the vector, and both texts are compared.
    With --embedding: only vectors are given, and no encoder is needed. --strategy guided searches with an
    encoder: it embeds candidate texts and keeps those whose vectors come nearer. Ctrl-C ends the search and
    shows the nearest texts so far.
    """
    ctx = click.get_current_context()
    if bool(texts) == (embedding is not None):
        raise click.UsageError("Give either a TEXT or --embedding FILE.", ctx)
    if output is not None and embedding is None:
        raise click.UsageError("--output needs --embedding FILE.", ctx)
    cluster = take_cluster(typed)
    config = _config(lengths, beginnings, watch, typed)
    if embedding is not None:
        from unembed.cli.dataset_of_vectors import DatasetOptions, invert_dataset, is_for_dataset

        asked = DatasetOptions(cluster, id_field, part_rows, dry_run)
        if is_for_dataset(embedding, output, asked):
            more = {"model": model, "device": device, "field": field, "trust_remote_code": trust_remote_code}
            done, failed = invert_dataset(
                embedding, output, config, asked, warn=_warn, as_json=as_json, **more
            )
            _end(done, failed)
            return
    if cluster.on is not None or dry_run or id_field is not None:
        raise click.UsageError("--on, --dry-run and --id-field need --embedding and --output.", ctx)
    from unembed.cli.search_bar import noticing_interrupts
    from unembed.inverter import Inverter
    from unembed.strategies import make_strategy

    # A mistyped strategy is an error before a model is loaded.
    make_strategy(config.strategy, config.options)
    inverter = Inverter.from_pretrained(model, device=device, trust_remote_code=trust_remote_code)
    if config.strategy == GUIDED and not as_json and str(config.options.get("forms")) != "0":
        from unembed.cli.forms_note import forms_note

        if (note := forms_note(inverter.checkpoint, inverter.guide(config.encoder))) is not None:
            say(note)
    with _warnings_on_stderr(), noticing_interrupts() as interrupts:
        if texts:
            _round_trip(inverter, texts, config, interrupts, watch=watch, as_json=as_json)
        elif output is not None:
            _to_file(inverter, str(embedding), field, Path(output), config, as_json=as_json)
        else:
            _to_stdout(inverter, str(embedding), field, config, watch=watch, as_json=as_json)


def _config(
    lengths: str | None, beginnings: tuple[str, ...], watch: bool, typed: dict[str, Any]
) -> InvertConfig:
    """What was typed, as one configuration; a search's budget and deadline have flags of their own."""
    from unembed.decode.strategy_options import parse_options

    options: dict[str, Any] = dict(parse_options(typed.pop("options")))
    search = {name: value for name in SEARCH_OPTIONS if (value := typed.pop(name)) is not None}
    typed |= {"lengths": _lengths(lengths), "trace": watch}
    typed["beginnings"] = beginnings[0] if len(beginnings) == 1 else beginnings
    config = build_config(InvertConfig, typed)
    if config.strategy != GUIDED:
        for name in ("encoder", *search):
            if name in search or typed[name] is not None:
                flag = "--" + name.replace("_", "-")
                raise click.UsageError(f"{flag} needs --strategy {GUIDED}.", click.get_current_context())
    # A row that cannot be inverted must not end a run over a million of them.
    return InvertConfig.of(config, {"options": {**options, **search}, "bad_vectors": "record"})


def _lengths(typed: str | None) -> int | list[int] | None:
    if typed is None:
        return None
    try:
        numbers = [int(part) for part in typed.split(",")]
    except ValueError as error:
        raise click.BadParameter(
            f"'{typed}' is not a number or a list of numbers.", param_hint="--length"
        ) from error
    return numbers[0] if len(numbers) == 1 else numbers


@contextmanager
def _search_bar(config: InvertConfig, *, vectors: int | None, quiet: bool) -> Iterator[SearchBar | None]:
    """A bar that counts a guided search's encoder calls; nothing for the other strategies."""
    if config.strategy != GUIDED:
        yield None
        return
    from unembed.cli.search_bar import SearchBar
    from unembed.progress import progress_bar

    calls = int(config.options.get("max_encoder_calls", GuidedSettings().max_encoder_calls))
    total = None if vectors is None else vectors * calls
    with progress_bar("Searching", total=total, unit="calls", quiet=quiet) as bar:
        yield SearchBar(bar, "Searching", counts=True)


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """A warning about the vectors is for the person, in one line, without a source file."""
    from unembed.inverter import PlausibilityWarning

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, PlausibilityWarning):
                _warn(str(message))
            else:
                shown(message, category, *rest, **more)

        warnings.simplefilter("always", PlausibilityWarning)
        warnings.showwarning = show
        yield


def _warn(message: str) -> None:
    say(click.style("Warning: ", fg="yellow", bold=True) + message)


def _round_trip(
    inverter: Inverter,
    texts: tuple[str, ...],
    config: InvertConfig,
    interrupts: Interrupts,
    *,
    watch: bool,
    as_json: bool,
) -> None:
    """All texts together: a batch costs less than its texts one by one."""
    from unembed.cli import round_trip
    from unembed.cli.main import INTERRUPTED
    from unembed.text import tokenise

    for ids in tokenise(inverter.checkpoint.tokenizer, texts):
        if len(ids) > inverter.max_length:
            say(f"Note: this text has {len(ids)} tokens, and the model writes at most {inverter.max_length}.")
    with _search_bar(config, vectors=len(texts), quiet=as_json) as bar:
        trips = inverter.round_trip(texts, config, observe=bar)
    precision = inverter.precision(config)
    for trip in trips:
        if watch and trip.inversion.trace is not None:
            round_trip.play(trip.inversion)
        if as_json:
            click.echo(json.dumps(round_trip.as_json(trip, config, precision), ensure_ascii=False))
        else:
            round_trip.show(trip, config, precision)
    if interrupts.seen:
        say("Interrupted: these are the nearest texts so far.")
        sys.exit(INTERRUPTED)


def _to_stdout(
    inverter: Inverter,
    source: str,
    field: str | None,
    config: InvertConfig,
    *,
    watch: bool,
    as_json: bool,
) -> None:
    from unembed.cli.round_trip import play
    from unembed.vectors.files import open_vectors
    from unembed.vectors.results import as_row

    vectors = open_vectors(source, field=field)
    total = vectors.count() if config.strategy == GUIDED else None
    done = failed = 0
    with _search_bar(config, vectors=total, quiet=as_json or watch) as bar:
        for index, result in enumerate(inverter.stream(vectors.blocks(), config, observe=bar)):
            if watch and result.trace is not None:
                play(result)
            if as_json:
                click.echo(json.dumps(as_row(index, result), ensure_ascii=False))
            else:
                click.echo(result.text)
                for other in result.alternatives:
                    click.echo(f"  {other.score:8.2f}  {other.text}")
            if result.error is not None and not as_json:
                say(f"Vector {index}: {result.error}")
            done, failed = done + 1, failed + (result.error is not None)
    _end(done, failed)


def _to_file(
    inverter: Inverter,
    source: str,
    field: str | None,
    output: Path,
    config: InvertConfig,
    *,
    as_json: bool,
) -> None:
    from unembed.cli.search_bar import SearchBar
    from unembed.inverter import WINDOW
    from unembed.progress import progress_bar
    from unembed.vectors.files import open_vectors
    from unembed.vectors.results import ResultFile

    vectors = open_vectors(source, field=field)
    config = InvertConfig.of(config, {"trace": False})
    about = {**_identity(inverter, config), "vectors": vectors.identity, "field": field}
    began = time.perf_counter()
    with ResultFile(output, about, together=WINDOW * config.batch_size) as file:
        earlier = file.done
        if not file.complete:
            total = vectors.count()
            with progress_bar("Inverting", total=total, unit="texts", done=earlier, quiet=as_json) as bar:
                observe = SearchBar(bar, "Inverting") if config.strategy == GUIDED else None
                rest = _rest(config, earlier)
                for result in inverter.stream(vectors.blocks(earlier), rest, observe=observe):
                    file.write(result)
                    bar.advance()
            file.finish()
        done, failed = file.done, file.failed
    if as_json:
        seconds = round(time.perf_counter() - began, 3)
        summary = {"output": str(output), "texts": done - failed, "failed": failed, "earlier": earlier}
        click.echo(json.dumps({**summary, "seconds": seconds}))
    else:
        say(f"{done:,} rows in {output}" + (f", {earlier:,} of them from earlier." if earlier else "."))
    _end(done, failed)


def _identity(inverter: Inverter, config: InvertConfig) -> dict[str, Any]:
    """Everything that decides the texts, apart from the vectors: only the same run resumes a file."""
    from unembed.vectors.identity import result_identity

    guide = inverter.guide(config.encoder) if config.strategy == GUIDED else None
    # The batch does not change the texts, so that it may change from one attempt to the next.
    fixed = config.model_dump(mode="json", exclude={"batch_size", "trace", "check", "bad_vectors"})
    return {**fixed, **result_identity(inverter.checkpoint, guide)}


def _rest(config: InvertConfig, earlier: int) -> InvertConfig:
    """The configuration for what is left of a file after an interruption."""
    config = config.for_rows(earlier)
    if config.strategy == GUIDED:  # what an interrupted search had is not what the file is for
        config = InvertConfig.of(config, {"options": {**config.options, "keep_on_interrupt": False}})
    return config


def _end(done: int, failed: int) -> None:
    """The last line and the exit code say how many vectors could not be inverted."""
    if failed:
        raise DataError(
            f"{failed:,} of {done:,} vectors could not be inverted; the others were.",
            hint="Their records say why.",
        )
