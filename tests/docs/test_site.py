"""The documentation as a site: it builds without a warning, and its generated page is what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import cli_reference
import pytest

import unembed

ROOT = Path(__file__).parents[2]


def test_the_command_line_reference_is_what_the_code_says() -> None:
    committed = cli_reference.PAGE.read_text(encoding="utf-8")
    assert committed == cli_reference.reference(), (
        f"docs/reference/cli.md is older than the commands. Make it again: {cli_reference.REMAKE}"
    )


def test_the_reference_has_every_option_of_every_command() -> None:
    page = cli_reference.reference()
    shown = subprocess.run(
        [sys.executable, "-m", "unembed", "invert", "--help"], capture_output=True, text=True, check=True
    ).stdout
    flags = set(re.findall(r"--[a-z][a-z-]+", shown.split("Options:")[1]))
    assert len(flags) > 10
    assert not {flag for flag in flags if flag not in page}
    assert "`unembed prepare encode`" in page  # commands under commands too


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_leads_somewhere(site: Path) -> None:
    """`--strict` checks pages and anchors of Markdown; pictures that HTML names are checked here."""
    pages = list(site.rglob("*.html"))
    assert {"index.html", "tutorial.html", "architecture.html", "changelog.html"} <= {p.name for p in pages}
    for page in pages:
        for picture in re.findall(r'<img[^>]* src="([^"]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / picture).exists(), f"{page.name}: {picture}"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', text)
        assert not [one for pair in loaded for one in pair if one.startswith(("http", "//"))], page.name


def test_the_python_page_documents_what_people_import(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    public = set(unembed.__all__) - {"__version__"}
    for name in (*public, "Inversion", "Encoder", "evaluate"):
        assert re.search(rf'<h[34] id="[\w.]*\.{name}"', text), name
