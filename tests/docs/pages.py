"""What a page tells its readers to type: its code blocks, taken out and run with the real command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from typed import unembed

ROOT = Path(__file__).parents[2]


def every_block(page: str) -> list[tuple[str, str]]:
    """The page's code blocks in order, each after its language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    """The page's code blocks in that language."""
    return [block for its_language, block in every_block(page) if its_language == language]


def commands(block: str) -> list[list[str]]:
    """The words of each command, without comments."""
    lines = block.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def sessions(block: str) -> list[tuple[list[str], str]]:
    """Each `$ command` of a console block, and what the page says it prints."""
    found: list[tuple[list[str], str]] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.replace("\\\n", " ").partition("\n")
        found.append((shlex.split(command), printed))
    return found


def run(words: list[str]) -> str:
    """Run an `unembed` command in the current folder; what it prints on stdout."""
    assert words[0] == "unembed", words
    ran = unembed(*words[1:])
    assert ran.returncode == 0, f"{shlex.join(words)}\n{ran.stderr}"
    return ran.stdout


def said_to_print(block: str) -> str:
    """The output that a Python block shows: the comments right after a line that prints."""
    shown, printing = [], False
    for line in block.splitlines():
        printing = "print(" in line or (printing and line.startswith("# "))
        if printing and line.startswith("# "):
            shown.append(line[2:] + "\n")
    return "".join(shown)


def comparable(text: str) -> str:
    """Without what differs between machines: seconds, the precision that the processor has, with it the
    score's last digits, and by those of a cosine how long a search takes until it has found its text."""
    text = re.sub(r"(fp32|bf16), \d+\.\d+ s\b", "... s", text)
    text = re.sub(r"score -\d+\.\d+", "score ...", text)
    if "encoder calls" in text:
        text = re.sub(r"\d+ (encoder calls|passes)", r"... \1", text)
    return text
