"""Write the command-line reference from the commands themselves: `python docs/cli_reference.py`.

Commands, options and their help come from the code (`unembed.cli`), so that the page cannot disagree with
`--help`. A test compares the committed page with what this file makes.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from unembed.cli.main import cli

PAGE = Path(__file__).parent / "reference" / "cli.md"
REMAKE = "python docs/cli_reference.py"

_TOP = f"""# Command line

<!-- Made by `{REMAKE}`; edit the commands' help in src/unembed/cli instead. -->

`unembed COMMAND --help` prints the same. Results go to stdout and progress to stderr.
Every command takes `--json`.
"""


def reference() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="unembed")
    parts = [_TOP, _exit_codes()]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        parts.extend(_pages(command, click.Context(command, info_name=name, parent=context), level=2))
    return "\n".join(parts).rstrip() + "\n"


def _exit_codes() -> str:
    import unembed.cli.main as main

    told = re.search(r"Exit codes are stable: (.*?)\.\n", main.__doc__ or "", re.DOTALL)
    assert told is not None, "unembed.cli.main's docstring lists the exit codes"
    rows = [part.strip().split(" ", 1) for part in " ".join(told[1].split()).split(";")]
    return _table(("exit code", "meaning"), [(f"`{code}`", meaning) for code, meaning in rows])


def _pages(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """The command, then what stands under it."""
    yield f"{'#' * level} `{context.command_path}`\n"
    yield from _about(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from _pages(inner, click.Context(inner, info_name=name, parent=context), level + 1)


def _about(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    if command.help:
        yield _prose(command.help)
    for heading, rows in _options(command, context).items():
        if heading:
            yield f"**{heading}**\n"
        yield _table(("option", "what it does"), rows)
    if command.epilog:
        yield _prose(command.epilog)


def _options(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Rows by heading, in the order of `--help`: options without a heading come last."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None and "--help" not in parameter.opts:
            flags, text = record
            found.setdefault(getattr(parameter, "section", ""), []).append((f"`{flags}`", text))
    rest = found.pop("", [])
    if rest:
        found["Options" if found else ""] = rest
    return found


def _prose(text: str) -> str:
    """Paragraphs; indented lines are commands to type."""
    parts: list[str] = []
    code = False
    for line in inspect.cleandoc(text.replace("\b", "")).splitlines():
        if line and line.startswith("  ") != code:
            parts.append("```\n" if code else "\n```bash")
            code = not code
        parts.append(line[2:] if code else _escape(line))
    if code:
        parts.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n"


def _table(heads: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {heads[0]} | {heads[1]} |", "|---|---|"]
    lines += [f"| {_cell(left)} | {_cell(_escape(right))} |" for left, right in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escape(text: str) -> str:
    """Markdown must not take `[default: x]` for a link, nor `<` for a tag, nor `*` for emphasis."""
    return re.sub(r"([\[\]<*_])", r"\\\1", text)


def main() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
    sys.stderr.write(f"Wrote {PAGE}\n")


if __name__ == "__main__":
    main()
