"""Names, ids and folders find their encoder; everything else finds help."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from unembed.encoders import list_encoders, load_encoder, locations
from unembed.encoders.recipes import RECIPES
from unembed.encoders.registry import DEFAULT, ENTRIES, find_entry
from unembed.errors import UsageError


def test_every_line_is_whole() -> None:
    assert ENTRIES[DEFAULT].local
    for entry in list_encoders():
        module = importlib.import_module(f"unembed.encoders.{entry.module}")
        assert callable(module.load)
        assert entry.where
        assert (entry.kind == "fetch") == (entry.name in RECIPES)
        assert entry.dimension or entry.kind == "api"


def test_names_ids_folders_and_endpoints(tmp_path: Path) -> None:
    assert find_entry("minilm").kind == "bundled"
    assert find_entry("owner/model").kind == "hub"
    folder = find_entry(str(tmp_path))
    assert (folder.kind, folder.local, folder.where) == ("folder", True, "a local folder")
    assert find_entry("openai:text-embedding-3-small").module == "openai_api"
    assert find_entry("embeddinggemma#query").prompt == "query"
    assert find_entry("owner/model#query").origin == "owner/model"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("minilmm", "Did you mean 'minilm'"),
        ("nonsense", "unembed encoders"),
        ("", "unembed encoders"),
        ("./not-there", "no encoder folder"),
        ("/not/there", "no encoder folder"),
        ("a/b/c", "no encoder folder"),
        ("openai:", "Which model"),
        ("openai:MODEL", "Which model"),
        ("minilm#query", "no prompts"),
        ("owner/model#", "no prompts"),
    ],
)
def test_a_wrong_name_says_what_is_right(name: str, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_encoder(name)
    assert word in str(caught.value)


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNEMBED_HOME", str(tmp_path))
    assert locations.encoder_folder("mpnet") == tmp_path / "encoders" / "mpnet"
    monkeypatch.delenv("UNEMBED_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, part in [("linux", "cache"), ("darwin", "Library"), ("win32", "local")]:
        monkeypatch.setattr(sys, "platform", platform)
        assert part in locations.home().parts
        assert "unembed" in locations.home().parts


def test_listing_loads_no_torch() -> None:
    script = (
        "import sys\n"
        "from unembed.encoders import list_encoders\n"
        "[(e.local, e.where) for e in list_encoders()]\n"
        "heavy = {'torch', 'transformers', 'tokenizers', 'httpx'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
