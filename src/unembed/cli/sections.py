"""Help with the options under headings, for commands that have many."""

from __future__ import annotations

from typing import Any

import click


class SectionedOption(click.Option):
    """An option that knows its heading."""

    def __init__(self, *args: Any, section: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """Lists the options heading by heading, in the order of their first option; the rest comes last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows.setdefault(getattr(parameter, "section", ""), []).append(record)
        rest = rows.pop("", [])
        for heading, records in (*rows.items(), ("Options", rest)):
            with formatter.section(heading):
                formatter.write_dl(records)
