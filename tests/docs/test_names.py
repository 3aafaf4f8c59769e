"""Pages name files, rooms and functions that exist."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pages
import pytest

import unembed

PACKAGE = pages.ROOT / "src" / "unembed"
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{page.name}" for page in (pages.ROOT / "docs").glob("*.md")),
]
CODE = re.compile(r"`([^`\n]+)`")


def _prose(page: str) -> str:
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_files_exist(page: str) -> None:
    """`decode/rank.py` is a path in the package or in the repository; a bare `base.py` is any file's name."""
    named = {name for code in CODE.findall(_prose(page)) for name in re.findall(r"[\w./-]+\.py\b", code)}
    everywhere = {path.name for path in PACKAGE.rglob("*.py")}
    missing = [
        name
        for name in named
        if not (PACKAGE / name).exists()
        and not (pages.ROOT / name).exists()
        and not ("/" not in name and name in everywhere)
        and name != "texts.py"  # the tutorial's own
    ]
    assert not missing


def test_architecture_names_exist() -> None:
    """A dotted name in backticks is something of the package: `inverter.Inverter.stream`."""
    names = [
        code.removesuffix("()")
        for code in CODE.findall(_prose("docs/architecture.md"))
        if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(\(\))?", code) and not _is_file(code)
    ]
    assert len(names) > 40
    assert [name for name in names if not _resolves(name)] == []


def _is_file(name: str) -> bool:
    return Path(name).suffix in {
        ".py",
        ".json",
        ".jsonl",
        ".md",
        ".npy",
        ".npz",
        ".rows",
        ".safetensors",
        ".toml",
    }


def _resolves(name: str) -> bool:
    """The longest module of the dotted name, then attributes."""
    parts = name.split(".")
    found: Any = unembed
    for position, part in enumerate(parts):
        inner = ".".join(["unembed", *parts[: position + 1]])
        try:
            found = importlib.import_module(inner)
        except ModuleNotFoundError:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
    return True


def _rooms() -> list[str]:
    """What CONTRIBUTING's table lists, in its order."""
    return re.findall(
        r"^\| `(\w+)` \|", (pages.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_contributing_names_the_rooms_that_exist() -> None:
    there = {module.name for module in pkgutil.iter_modules([str(PACKAGE)])} - {"__main__"}
    assert set(_rooms()) == there, "the table of rooms in CONTRIBUTING.md lists every module of src/unembed"


def test_contributing_lists_rooms_in_the_order_of_the_contract() -> None:
    project = (pages.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [contract] = re.findall(r"^layers = \[\n(.*?)^\]", project, re.DOTALL | re.MULTILINE)
    layers = [set(re.findall(r"unembed\.(\w+)", line)) for line in reversed(contract.splitlines())]
    rooms, start = _rooms(), 0
    for layer in layers:
        assert set(rooms[start : start + len(layer)]) == layer, "CONTRIBUTING.md: the contract's order"
        start += len(layer)
    assert start == len(rooms)
