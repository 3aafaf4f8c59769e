"""`unembed`: the commands in the order of the work, loaded only when they are used.

Exit codes are stable: 0 done; 1 failed; 2 wrong usage; 3 a missing extra; 4 damaged or unfit data;
5 an existing output was made with other settings; 6 something outside does not answer, or a file cannot
be read or written; 7 an audit found more than is allowed; 70 an unexpected error (--debug shows the
traceback); 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import sys

import click

from unembed import __version__
from unembed.cli.console import accept_debug, debug_option, report_error, report_unexpected
from unembed.compute.memory import keep_freed_memory
from unembed.errors import UnavailableError, UnembedError, UsageError

# Command -> (module under unembed.cli, one line of help), in the order of the work. The help stands
# here so that `unembed --help` imports no command: the commands import what they need themselves.
COMMANDS = {
    "encoders": ("encoders", "List the encoders, and fetch the optional ones."),
    "prepare": ("prepare", "Turn texts into training shards: collect, then encode."),
    "data": ("data", "Inspect and verify prepared data."),
    "train": ("train", "Train an inverter on prepared data, or resume a run."),
    "adapt": ("adapt", "Adapt a model to another encoder, from a few thousand embeddings."),
    "surrogate": ("surrogate", "Train a surrogate: a small stand-in for an encoder in guided searches."),
    "phrases": ("phrases", "Count word pairs and triples in texts, for guided searches."),
    "casing": ("casing", "Count how words are written in texts, for guided searches."),
    "model": ("model", "Show, shrink, export and share a trained model."),
    "invert": ("invert", "Recover texts from vectors, or embed a text and recover it."),
    "identify": ("identify", "Say which encoder made the vectors of a file or a store."),
    "canary": ("canary", "Make sentences with secrets, to plant in a store and look for afterwards."),
    "evaluate": ("evaluate", "Measure how much a model recovers, beside the floors."),
    "audit": ("audit", "Attack a vector store's vectors, and report what they give away."),
    "defend": ("defend", "Defend a file's vectors: noise, codes, secret maps, or a learnt transform."),
    "serve": ("serve", "Serve the live demonstration page and the HTTP API."),
}

UNEXPECTED = 70  # what sysexits.h calls EX_SOFTWARE
INTERRUPTED = 130


class LazyCommands(click.Group):
    """A group that imports a command's module only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"unembed.cli.{COMMANDS[cmd_name][0]}")
        return accept_debug(module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands, in the order of the work"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            guess = f" Did you mean '{close[0]}'?" if close else " See 'unembed --help'."
            raise click.UsageError(f"There is no command '{name}'.{guess}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Results go to stdout, progress to stderr; every command takes --json. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 missing extra, 4 bad data, "
    "5 made with other settings, 6 unreachable, 7 findings of an audit, 70 unexpected error, 130 "
    "interrupted.",
    params=[debug_option()],
)
@click.version_option(__version__, prog_name="unembed")
def cli() -> None:
    """Recover text from embedding vectors, and measure how much they give away."""


def main() -> None:
    """Entry point: turns every failure into one clear message and a stable exit code."""
    keep_freed_memory()
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        report_error("Interrupted; what was finished stays. Run the same command again to resume.")
        sys.exit(INTERRUPTED)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"Try '{context.command_path} --help'." if context is not None else None
        report_error(error.format_message(), hint)
        sys.exit(UsageError.exit_code)
    except UnembedError as error:
        report_error(error.message, error.hint, cause=error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader went away (`unembed ... | head`): not an error worth a message.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        # A full disk, a folder without permission: the system's own words say what to do.
        report_error(_system_error(error), cause=error)
        sys.exit(UnavailableError.exit_code)
    except Exception as error:
        report_unexpected(error)
        sys.exit(UNEXPECTED)


def _system_error(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return f"{type(error).__name__}: {error}"
    return f"{error.filename}: {error.strerror}."
