"""README: its Python and its commands are run, and print what it says they print."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import urllib.request

import pages

PAGE = "README.md"
NOT_HERE = ("make", "pip")  # they install; the project's own checks run `make test`


def test_python_prints_what_it_says() -> None:
    found = pages.blocks(PAGE, "python")
    assert found
    for block in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, PAGE, "exec"), {})
        assert pages.comparable(printed.getvalue()) == pages.comparable(pages.said_to_print(block)) != ""


def test_commands_print_what_it_says() -> None:
    shown = [session for block in pages.blocks(PAGE, "console") for session in pages.sessions(block)]
    assert len(shown) > 1
    for words, expected in shown:
        assert pages.comparable(pages.run(words)) == pages.comparable(expected)


def test_make_try_is_what_the_commands_show() -> None:
    makefile = (pages.ROOT / "Makefile").read_text(encoding="utf-8")
    sentence = re.search(r"^SENTENCE := (.*)$", makefile, re.MULTILINE)
    assert sentence is not None
    for block in pages.blocks(PAGE, "console"):
        assert all(words[2] == sentence[1] for words, _ in pages.sessions(block))


def _bash() -> list[list[str]]:
    found = [words for block in pages.blocks(PAGE, "bash") for words in pages.commands(block)]
    return [words for words in found if words[0] not in NOT_HERE]


def test_every_other_command_is_run_elsewhere() -> None:
    """The commands that train are the tutorial's, and its test runs them; the server has a test below."""
    tutorial = [
        words for block in pages.blocks("docs/tutorial.md", "bash") for words in pages.commands(block)
    ]
    tutorial += [
        words for block in pages.blocks("docs/tutorial.md", "console") for words, _ in pages.sessions(block)
    ]
    others = [words for words in _bash() if words[:2] != ["unembed", "serve"]]
    assert others
    assert [words for words in others if words not in tutorial] == []


def test_the_server_starts() -> None:
    [words] = [words for words in _bash() if words[:2] == ["unembed", "serve"]]
    command = [sys.executable, "-m", *words, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            with urllib.request.urlopen(f"{url.rstrip('/')}/health") as answer:
                assert answer.status == 200
        finally:
            server.terminate()


def test_figures_stand_in_the_pages_they_come_from() -> None:
    """A figure with its interval is copied from a page that names its command; it must be there still."""
    cards = ("src/unembed/assets/minilm-en/README.md", "models/use-ten/README.md")
    sources = ("docs/guided.md", "docs/speed.md", "docs/defences.md", *cards)
    told = [(pages.ROOT / page).read_text(encoding="utf-8").replace("*", "") for page in sources]
    figures = re.findall(r"\d+\.\d \[\d+\.\d, \d+\.\d\]", (pages.ROOT / PAGE).read_text(encoding="utf-8"))
    assert len(figures) >= 10
    assert [figure for figure in figures if not any(figure in page for page in told)] == []
