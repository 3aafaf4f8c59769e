"""`unembed invert`: texts back out of vectors; or the round trip of a text, to see it happen."""

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

from unembed.cli.console import json_option, say
from unembed.cli.options import trust_option

if TYPE_CHECKING:
    from unembed.cli.hunting import HuntNews, Interrupts
    from unembed.decode.result import Inversion
    from unembed.inverter import Inverter

GUIDED = "guided"
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
    help="Vectors: .npy, .npz, Parquet, JSON lines, safetensors, a FAISS index; '-' for JSON lines on stdin.",
)  # fmt: skip
@click.option("--field", help="The array, column or key that holds the vectors, where there are several.")
@click.option("-m", "--model", help="Folder or hub id of a trained model.  [default: the bundled one]")
@click.option(
    "-s", "--strategy", help="How to decode; docs/decoding.md compares them.  [default: confidence]"
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the strategy.")
@click.option(
    "--encoder", metavar="NAME",
    help="Encoder that guides: a name, a folder, or 'surrogate'.  [default: the model's own]",
)  # fmt: skip
@click.option(
    "--max-encoder-calls", type=click.IntRange(min=0), metavar="N",
    help="Texts that a guided search may embed for each vector.  [default: 2000]",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(min=0), metavar="S", help="When a guided search ends, found or not."
)
@click.option("--steps", type=click.IntRange(min=1), help="Forward passes a text.  [default: one a token]")
@click.option("--n-best", type=click.IntRange(min=1), default=1, show_default=True, help="Texts a vector.")
@click.option(
    "--length", "lengths", metavar="N[,N]...", help="Tokens of the text, if known: one, or one each."
)
@click.option(
    "--candidates", type=click.IntRange(min=1), default=5, show_default=True,
    help="Lengths to try where the length is not known.",
)  # fmt: skip
@click.option(
    "--guidance", type=float, default=0.0, help="Exaggerate what the vector says; doubles the passes."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same texts.")
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Texts at once.")
@click.option("--reuse", is_flag=True, help="Faster: compute a token that stands only once; approximate.")
@click.option(
    "--shortlist", type=click.IntRange(min=0), default=0, metavar="N",
    help="Faster: leave a text N words after its first pass; approximate.",
)  # fmt: skip
@click.option("--device", default="cpu", show_default=True, help="Where the model runs: cpu, cuda, mps.")
@trust_option
@click.option("--watch", is_flag=True, help="Show the masks dissolve, or the nearest texts in turn.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Write .jsonl or .parquet; the same command goes on after an interruption.",
)  # fmt: skip
@json_option
def command(
    texts: tuple[str, ...],
    embedding: str | None,
    field: str | None,
    model: str | None,
    lengths: str | None,
    device: str,
    trust_remote_code: bool,
    watch: bool,
    output: Path | None,
    as_json: bool,
    **typed: Any,
) -> None:
    """Recover texts from vectors.

    With TEXT it makes the round trip: the model's own encoder makes the vector, the model reads it, and
    both texts are compared. With --embedding there are only vectors, and no encoder is needed, unless
    --strategy guided is to use one: it embeds what it tries, and keeps what comes nearer. Ctrl-C ends that
    search and shows the nearest texts so far.
    """
    ctx = click.get_current_context()
    if bool(texts) == (embedding is not None):
        raise click.UsageError("Give either a TEXT or --embedding FILE.", ctx)
    if output is not None and embedding is None:
        raise click.UsageError("--output goes with --embedding.", ctx)
    settings = _settings(lengths, watch, typed)
    from unembed.cli.hunting import noticing_interrupts
    from unembed.inverter import Inverter
    from unembed.search.strategies import make_strategy

    # A mistyped strategy is told before a model is loaded.
    make_strategy(settings["strategy"], **settings["options"])
    inverter = Inverter.from_pretrained(model, device=device, trust_remote_code=trust_remote_code)
    with _warnings_as_news(), noticing_interrupts() as interrupts:
        if texts:
            _round_trip(inverter, texts, settings, interrupts, watch=watch, as_json=as_json)
        elif output is not None:
            _to_file(inverter, str(embedding), field, output, settings, interrupts, as_json=as_json)
        else:
            _to_stdout(inverter, str(embedding), field, settings, watch=watch, as_json=as_json)


def _settings(lengths: str | None, watch: bool, typed: dict[str, Any]) -> dict[str, Any]:
    """What was typed, as `stream` takes it; the strategy's own options apart."""
    from unembed.decode.registry import DEFAULT
    from unembed.search.strategies import parse_options

    strategy = typed.pop("strategy") or DEFAULT
    options = parse_options(strategy, typed.pop("options"))
    for name in ("encoder", *SEARCH_OPTIONS):
        if typed[name] is not None and strategy != GUIDED:
            flag = "--" + name.replace("_", "-")
            raise click.UsageError(f"{flag} goes with --strategy {GUIDED}.", click.get_current_context())
    options.update({name: typed[name] for name in SEARCH_OPTIONS if typed[name] is not None})
    for name in SEARCH_OPTIONS:
        del typed[name]
    return {**typed, "strategy": strategy, "options": options, "lengths": _lengths(lengths), "trace": watch}


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


def _stream(
    inverter: Inverter, vectors: Any, settings: dict[str, Any], observe: HuntNews | None = None
) -> Iterator[Inversion]:
    plain = {name: value for name, value in settings.items() if name != "options"}
    return inverter.stream(vectors, **plain, **settings["options"], observe=observe)


@contextmanager
def _hunt_bar(settings: dict[str, Any], *, vectors: int | None, quiet: bool) -> Iterator[HuntNews | None]:
    """A bar that counts a guided search's encoder calls; nothing for the other strategies."""
    if settings["strategy"] != GUIDED:
        yield None
        return
    from unembed.cli.hunting import HuntNews
    from unembed.progress import progress_bar
    from unembed.search.strategies import Guided

    total = None if vectors is None else vectors * Guided(**settings["options"]).max_encoder_calls
    with progress_bar("Searching", total=total, unit="calls", quiet=quiet) as bar:
        yield HuntNews(bar, "Searching", counts=True)


@contextmanager
def _warnings_as_news() -> Iterator[None]:
    """A warning about the vectors is for the person, in one line, without a source file."""
    from unembed.inverter import PlausibilityWarning

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, PlausibilityWarning):
                say(click.style("Warning: ", fg="yellow", bold=True) + str(message))
            else:
                shown(message, category, *rest, **more)

        warnings.simplefilter("always", PlausibilityWarning)
        warnings.showwarning = show
        yield


def _round_trip(
    inverter: Inverter,
    texts: tuple[str, ...],
    settings: dict[str, Any],
    interrupts: Interrupts,
    *,
    watch: bool,
    as_json: bool,
) -> None:
    from unembed.cli.main import INTERRUPTED
    from unembed.cli.show import play, show_round_trip
    from unembed.cli.trip import round_trip

    def invert(vectors: Any, own: dict[str, Any]) -> list[Inversion]:
        with _hunt_bar(own, vectors=len(vectors), quiet=as_json) as news:
            return list(_stream(inverter, vectors, own, news))

    for trip in round_trip(inverter, texts, settings, invert):
        if watch and trip.result.trace is not None:
            play(trip.result)
        if as_json:
            click.echo(json.dumps(trip.as_json(), ensure_ascii=False))
        else:
            show_round_trip(trip)
        if interrupts.seen:
            say("Interrupted: this is the nearest text so far.")
            sys.exit(INTERRUPTED)


def _to_stdout(
    inverter: Inverter,
    source: str,
    field: str | None,
    settings: dict[str, Any],
    *,
    watch: bool,
    as_json: bool,
) -> None:
    from unembed.cli.show import play
    from unembed.vectors.files import open_vectors
    from unembed.vectors.results import as_row

    vectors = open_vectors(source, field=field)
    total = vectors.count() if settings["strategy"] == GUIDED else None
    with _hunt_bar(settings, vectors=total, quiet=as_json or watch) as news:
        for index, result in enumerate(_stream(inverter, vectors.blocks(), settings, news)):
            if watch and result.trace is not None:
                play(result)
            if as_json:
                click.echo(json.dumps(as_row(index, result), ensure_ascii=False))
            else:
                click.echo(result.text)
                for other in result.alternatives:
                    click.echo(f"  {other.score:8.2f}  {other.text}")


def _to_file(
    inverter: Inverter,
    source: str,
    field: str | None,
    output: Path,
    settings: dict[str, Any],
    interrupts: Interrupts,
    *,
    as_json: bool,
) -> None:
    from unembed.cli.hunting import HuntNews
    from unembed.inverter import WINDOW
    from unembed.progress import progress_bar
    from unembed.vectors.files import open_vectors
    from unembed.vectors.results import ResultFile

    vectors = open_vectors(source, field=field)
    digests = inverter.checkpoint.config.digests
    # The batch does not change the texts, so that it may change from one attempt to the next.
    fixed = {name: value for name, value in settings.items() if name not in ("batch", "trace")}
    guided = settings["strategy"] == GUIDED
    if guided:  # two encoders may have one name
        fixed["encoder"] = inverter.guide(settings["encoder"]).info.digest
    began = time.perf_counter()
    about = {**fixed, "model": digests, "vectors": vectors.identity, "field": field}
    with ResultFile(output, about, together=WINDOW * settings["batch"]) as file:
        earlier = file.done
        if not file.complete:
            rest = _skip_lengths(settings, earlier)
            total = vectors.count()
            with progress_bar("Inverting", total=total, unit="texts", done=earlier, quiet=as_json) as bar:
                news = HuntNews(bar, "Inverting") if guided else None
                for result in _stream(inverter, vectors.blocks(earlier), rest, news):
                    if interrupts.seen:  # what a search had until then is not what the file is for
                        raise KeyboardInterrupt
                    file.write(result)
                    bar.advance()
            file.finish()
        done = file.done
    if as_json:
        seconds = round(time.perf_counter() - began, 3)
        click.echo(json.dumps({"output": str(output), "texts": done, "earlier": earlier, "seconds": seconds}))
    else:
        say(f"{done:,} texts in {output}" + (f", {earlier:,} of them from earlier." if earlier else "."))


def _skip_lengths(settings: dict[str, Any], earlier: int) -> dict[str, Any]:
    lengths = settings["lengths"]
    return {
        **settings,
        "trace": False,
        "lengths": lengths[earlier:] if isinstance(lengths, list) else lengths,
    }
