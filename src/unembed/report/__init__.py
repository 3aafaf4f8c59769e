"""Reports: tables and plots of what was measured. They render `summary.json` and compute nothing.

>>> from unembed.report import read_report, render
>>> render(read_report("evaluation/summary.json"), "evaluation")
"""

from __future__ import annotations

from unembed.report.document import Column, Report, Row, Table, read_report, write_report
from unembed.report.render import render

__all__ = ["Column", "Report", "Row", "Table", "read_report", "render", "write_report"]
