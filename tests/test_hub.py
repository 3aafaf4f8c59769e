"""The hub: its cache is used once it is whole, its absence is explained, its mirror is tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import local_hub
from unembed import hub
from unembed.encoders import load_encoder
from unembed.encoders.locations import hub_folder
from unembed.encoders.registry import ENTRIES, find_entry
from unembed.errors import UnavailableError, UsageError

INDEX = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
FILES = {
    "config.json": b"{}",
    "model.safetensors.index.json": json.dumps(INDEX).encode(),
    "model-00001-of-00002.safetensors": b"first",
    "model-00002-of-00002.safetensors": b"second",
    "tokenizer.json": b"{}",
    "pytorch_model.bin": b"a pickle",
}
WANTED = FILES.keys() - {"pytorch_model.bin"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[local_hub.LocalHub]:
    with local_hub.running() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        running.repositories["owner/model"] = dict(FILES)
        yield running


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    with local_hub.running() as stopped:
        monkeypatch.setenv("HF_ENDPOINT", stopped.address)


def disconnect(monkeypatch: pytest.MonkeyPatch) -> None:
    with local_hub.running() as stopped:
        address = stopped.address
    monkeypatch.setenv("HF_ENDPOINT", address)


def cut_off(cache: Path, *, without: str) -> Path:
    """The cache as a kill during the download leaves it."""
    [snapshot] = (cache / "models--owner--model" / "snapshots").iterdir()
    link = snapshot / without
    link.resolve().unlink()
    link.unlink()
    for note in (cache / "models--owner--model" / hub.COMPLETE).iterdir():
        note.unlink()
    return snapshot


@pytest.mark.usefixtures("unreachable")
@pytest.mark.parametrize("name", ["qwen3-0.6b", "embeddinggemma", "owner/model"])
def test_unreachable_says_what_to_do(name: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached") as caught:
        load_encoder(name)
    assert "path" in str(caught.value.hint)
    assert caught.value.exit_code == 6


def test_a_whole_snapshot_is_not_asked_for_again(server: local_hub.LocalHub) -> None:
    folder = hub_folder("owner/model")
    assert {path.name for path in folder.iterdir()} == WANTED
    server.requests.clear()
    assert hub_folder("owner/model") == folder
    assert server.requests == []


@pytest.mark.parametrize("missing", ["model-00002-of-00002.safetensors", "tokenizer.json"])
def test_a_snapshot_that_was_cut_off_is_completed(
    server: local_hub.LocalHub, cache: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_folder("owner/model")
    folder = cut_off(cache, without=missing)
    address = server.address
    disconnect(monkeypatch)
    with pytest.raises(UnavailableError):
        hub_folder("owner/model")
    monkeypatch.setenv("HF_ENDPOINT", address)
    assert hub_folder("owner/model") == folder
    assert {path.name for path in folder.iterdir()} == WANTED


def test_missing_weights_are_not_listed_as_here(server: local_hub.LocalHub, cache: Path) -> None:
    assert not find_entry("owner/model").local
    hub_folder("owner/model")
    assert find_entry("owner/model").local
    cut_off(cache, without="model-00002-of-00002.safetensors")
    assert not find_entry("owner/model").local


@pytest.mark.usefixtures("unreachable")
def test_without_a_listing_the_index_says_what_is_missing(cache: Path) -> None:
    """Older versions of huggingface_hub keep no listing, and give half a snapshot where there is no hub."""
    commit = "0123456789" * 4
    repository = cache / "models--owner--model"
    (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    for name in FILES.keys() - {"model-00002-of-00002.safetensors"}:
        (repository / "snapshots" / commit / name).write_bytes(FILES[name])
    with pytest.raises(hub.CutOffError, match="model-00002-of-00002"):
        hub_folder("owner/model")


def test_what_another_program_downloaded_is_used_without_a_hub(
    server: local_hub.LocalHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = hub_folder("owner/model")
    for note in (cache / "models--owner--model" / hub.COMPLETE).iterdir():
        note.unlink()
    disconnect(monkeypatch)
    assert hub_folder("owner/model") == folder


def test_the_mirror_is_tried_second(server: local_hub.LocalHub) -> None:
    entry = ENTRIES["embeddinggemma"]
    assert not entry.local
    server.repositories["unsloth/embeddinggemma-300m"] = {"model.safetensors": b""}
    folder = hub_folder(entry.origin, mirror=entry.mirror)
    asked = [request.split("/revision")[0] for request in server.requests]
    assert asked.index("GET /api/models/google/embeddinggemma-300m") < asked.index(
        "GET /api/models/unsloth/embeddinggemma-300m"
    )
    assert entry.local
    assert entry.where == "in the hub cache"
    server.requests.clear()
    assert hub_folder(entry.origin, mirror=entry.mirror) == folder
    assert server.requests == []


def test_a_revision_that_is_not_there_is_named(server: local_hub.LocalHub) -> None:
    with pytest.raises(UsageError, match="no such revision"):
        hub.snapshot("owner/model", revision="nowhere")


def test_a_model_that_is_not_there(server: local_hub.LocalHub) -> None:
    with pytest.raises(UsageError, match="has no model 'owner/other'"):
        hub.snapshot("owner/other")


def test_a_name_that_is_no_id_is_refused() -> None:
    with pytest.raises(UsageError, match="nor a hub id"):
        hub_folder("owner/..model..")


def test_one_file(server: local_hub.LocalHub) -> None:
    assert hub.download_file("owner/model", "tokenizer.json").read_bytes() == FILES["tokenizer.json"]
    with pytest.raises(UsageError, match="no such file"):
        hub.download_file("owner/model", "nothing.json")
