"""All renderings of a report into a folder: Markdown, one JSON per table, pictures."""

from __future__ import annotations

from pathlib import Path

from unembed.report.document import Report
from unembed.report.markdown import report_markdown
from unembed.report.plot import plot_table
from unembed.report.scatter_plot import plot_scatter
from unembed.storage import atomic_write, write_json

REPORT_NAME = "report.md"


def render(report: Report, folder: Path | str, *, plots: bool = True) -> list[Path]:
    """Write `report.md`, `<table>.json`, and `<table>.png` and `.svg`; returns what was written."""
    folder = Path(folder)
    written = []
    for table in report.tables:
        path = folder / f"{table.name}.json"
        write_json(path, table.model_dump(mode="json"))
        written.append(path)
        if plots:
            written += plot_table(table, folder)
    for scatter in report.scatters if plots else ():
        written += plot_scatter(scatter, folder)
    path = folder / REPORT_NAME
    with atomic_write(path) as file:
        file.write(report_markdown(report, plots=plots).encode())
    return [path, *written]
