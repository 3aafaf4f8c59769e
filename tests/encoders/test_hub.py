"""The hub: its cache is used, its absence is explained, its mirror is tried."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from unembed.encoders import load_encoder, locations
from unembed.encoders.hub import hub_folder
from unembed.encoders.registry import ENTRIES
from unembed.errors import UnavailableError, UsageError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A hub that cannot be reached, and what it was asked for."""
    names: list[str] = []

    def refuse(repository: str, **rest: object) -> str:
        names.append(repository)
        raise LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    return names


def put_in_cache(cache: Path, repository: str) -> Path:
    snapshot = cache / ("models--" + repository.replace("/", "--")) / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"")
    return snapshot


@pytest.mark.parametrize("name", ["qwen3-0.6b", "embeddinggemma", "owner/model"])
def test_unreachable_says_what_to_do(cache: Path, asked: list[str], name: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached") as caught:
        load_encoder(name)
    assert "path" in str(caught.value.hint)
    assert caught.value.exit_code == 6


def test_the_mirror_is_tried_second(cache: Path, asked: list[str]) -> None:
    with pytest.raises(UnavailableError):
        load_encoder("embeddinggemma")
    assert asked == ["google/embeddinggemma-300m", "unsloth/embeddinggemma-300m"]


def test_what_is_in_the_cache_is_not_downloaded(cache: Path, asked: list[str]) -> None:
    entry = ENTRIES["embeddinggemma"]
    assert not entry.local
    snapshot = put_in_cache(cache, "unsloth/embeddinggemma-300m")
    assert entry.local
    assert entry.where == "in the hub cache"
    assert hub_folder(entry.origin, mirror=entry.mirror) == snapshot
    assert asked == []


def test_an_unfinished_download_is_not_taken_for_the_model(cache: Path) -> None:
    put_in_cache(cache, "owner/model")
    (cache / "models--owner--model/snapshots/abc/model.safetensors").unlink()
    assert locations.hub_snapshot("owner/model") is None


def test_a_name_that_is_no_id_is_refused(cache: Path) -> None:
    with pytest.raises(UsageError, match="not a model id"):
        hub_folder("owner/..model..")
