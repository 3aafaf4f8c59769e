"""`unembed ...` as it is typed, in this process: the same entry point, without two seconds of imports."""

from __future__ import annotations

import sys
from typing import NamedTuple
from unittest import mock

import click
from click.testing import CliRunner

from unembed.cli.main import main


class Ran(NamedTuple):
    """What a finished process shows of itself."""

    returncode: int
    stdout: str
    stderr: str


def unembed(*arguments: object) -> Ran:
    """Run the entry point with these arguments; whatever it does not catch is raised here."""
    program = click.Command("unembed", callback=main)  # main reads sys.argv and ends with sys.exit
    with mock.patch.object(sys, "argv", ["unembed", *map(str, arguments)]):
        result = CliRunner().invoke(program, [])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)
