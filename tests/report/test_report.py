"""Reports render what a summary says, in every form, and compute nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from unembed.errors import DataError, UsageError
from unembed.metrics.figure import Figure
from unembed.report import Column, Report, Row, Table, read_report, render, write_report
from unembed.report.cells import best_rows, interval, number
from unembed.report.markdown import report_markdown
from unembed.report.terminal import print_report

ACCURACY = Column(
    name="token_accuracy", label="Token accuracy", percent=True, best="high", signature="by hand"
)
PERPLEXITY = Column(name="perplexity", label="Perplexity", best="low")


def figure(value: float, n: int = 50) -> Figure:
    return Figure(value=value, low=value * 0.9, high=value * 1.1, n=n)


def table(scale: str = "category", **changes: object) -> Table:
    fields: dict[str, object] = {
        "name": "strategies",
        "title": "Decoding strategies",
        "axis": "Strategy",
        "scale": scale,
        "columns": (ACCURACY, PERPLEXITY),
        "panels": ("token_accuracy",),
        "rows": (
            Row(label="a|b", x=0.0, facts={"Steps": "8"}, figures={"token_accuracy": figure(0.5)}),
            Row(
                label="euler [x]",
                x=0.1,
                figures={"token_accuracy": figure(0.25), "perplexity": figure(12345.6)},
            ),
            Row(label="Random tokens", floor=True, figures={"token_accuracy": figure(0.75)}),
        ),
        "notes": ("Length unknown.",),
    }
    return Table.model_validate({**fields, **changes})


def report(*tables: Table) -> Report:
    return Report(title="Evaluation", about={"seed": 0}, facts={"Model": "m [1]"}, tables=tables)


def test_numbers() -> None:
    assert number(0.5113, ACCURACY) == "51.1"
    assert number(12345.6, PERPLEXITY) == "12,346"
    assert interval(figure(0.5), ACCURACY) == "[45.0, 55.0]"
    assert interval(Figure(value=0.5, low=None, high=None, n=1), ACCURACY) == ""


def test_the_best_is_a_model_never_a_floor() -> None:
    assert best_rows(table(), ACCURACY) == {"a|b"}
    assert best_rows(table(), PERPLEXITY) == set()  # one row is no competition
    assert best_rows(table(mark_best=False), ACCURACY) == set()


def test_a_summary_survives_its_file(tmp_path: Path) -> None:
    written = report(table())
    write_report(tmp_path / "summary.json", written)
    assert read_report(tmp_path / "summary.json") == written
    assert read_report(tmp_path) == written


def test_what_is_not_a_summary_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"summary\.json"):
        read_report(tmp_path)
    (tmp_path / "summary.json").write_text('{"kind": "texts"}')
    with pytest.raises(DataError, match="not a report"):
        read_report(tmp_path)


def test_markdown() -> None:
    text = report_markdown(report(table()), plots=True)
    assert "| Strategy | Steps | Token accuracy % | Perplexity |" in text
    assert "| a\\|b | 8 | **50.0** [45.0, 55.0] | – |" in text
    assert "| *Random tokens* | – | 75.0 [67.5, 82.5] | – |" in text
    assert "n = 50 texts a row" in text
    assert "Length unknown." in text
    assert "![Decoding strategies](strategies.png)" in text
    assert "- Token accuracy: by hand" in text


def test_differing_counts_get_a_column() -> None:
    rows = (
        Row(label="4", figures={"token_accuracy": figure(0.5, n=7)}),
        Row(label="5", figures={"token_accuracy": figure(0.5, n=1234)}),
    )
    text = report_markdown(report(table(rows=rows)))
    assert "| Strategy | n | Token accuracy %" in text
    assert "| 5 | 1,234 |" in text


@pytest.mark.parametrize("people", [True, False])
def test_terminal(people: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=120, force_terminal=people, color_system=None, highlight=False)
    print_report(report(table()), console)
    text = stream.getvalue()
    assert "m [1]" in text  # brackets are text, not markup
    assert "euler [x]" in text
    assert "[45.0, 55.0]" in text
    line = next(line for line in text.splitlines() if line.startswith("a|b"))
    assert ("[45.0, 55.0]" in line) is not people


@pytest.mark.parametrize("scale", ["category", "linear", "symlog"])
def test_render_writes_everything(scale: str, tmp_path: Path) -> None:
    written = render(report(table(scale)), tmp_path)
    assert {path.name for path in written} == {
        "report.md",
        "strategies.json",
        "strategies.png",
        "strategies.svg",
    }
    assert (tmp_path / "strategies.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "strategies.svg").read_text()
    assert "Token accuracy" in svg
    assert json.loads((tmp_path / "strategies.json").read_text())["rows"][0]["label"] == "a|b"


@pytest.mark.parametrize("scale", ["linear", "symlog"])
def test_thousands_on_an_axis_are_short(scale: str, tmp_path: Path) -> None:
    rows = [
        Row(label=str(x), x=x, figures={"token_accuracy": figure(0.5)}) for x in (0.5, 0, 500, 1000, 2500)
    ]
    render(report(table(scale, rows=rows)), tmp_path)
    svg = (tmp_path / "strategies.svg").read_text()
    assert [f">{label}</text>" in svg for label in ("0", "0.5", "500", "1k", "2.5k")] == [True] * 5
    assert "1000<" not in svg
    assert "2,500<" not in svg


def test_the_same_table_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        render(report(table()), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_a_table_without_panels_has_no_plot(tmp_path: Path) -> None:
    written = render(report(table(panels=())), tmp_path)
    assert not [path for path in written if path.suffix in (".png", ".svg")]
    assert "![" not in (tmp_path / "report.md").read_text()
