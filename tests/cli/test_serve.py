"""`unembed serve` as people type it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import tiny
from unembed.cli import serve
from unembed.encoders import load_encoder
from unembed.errors import UnavailableError, UsageError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights for the bundled encoder."""
    encoder = load_encoder()
    return tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info), tmp_path_factory.mktemp("model"))


@pytest.mark.slow
def test_it_serves_the_real_encoder_until_it_is_interrupted(model: Path) -> None:
    command = [sys.executable, "-c", "from unembed.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", "--model", f"mine={model}", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["models"] == ["mine"]
        url = said["url"]
        text = "A secret that nobody must read."
        answer = httpx.post(
            f"{url}api/invert", json={"texts": [text], "steps": 2, "candidates": 1}, timeout=120
        )
        assert answer.status_code == 200
        assert "Embeddings are" in httpx.get(url, timeout=120).text
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "secret" not in errors
    assert all(json.loads(line)["event"] for line in errors.splitlines())


def served(monkeypatch: pytest.MonkeyPatch, *typed: str) -> dict:
    """What would be served, without serving it."""
    seen: dict = {}
    monkeypatch.setattr(serve, "_load", lambda models, device, **more: {"m": None})
    monkeypatch.setattr(
        serve, "_serve", lambda models, config, sock, url, **more: seen.update(config=config, url=url, **more)
    )
    result = CliRunner().invoke(serve.command, ["--port", "0", *typed])
    if result.exception is not None:
        raise result.exception
    return seen


def test_this_machine_needs_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = served(monkeypatch)
    assert seen["token"] is None
    assert seen["config"].local
    assert seen["url"].startswith("http://127.0.0.1:")


def test_beyond_it_a_token_is_made_up_unless_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = served(monkeypatch, "--host", "0.0.0.0")
    assert len(seen["token"]) > 20
    assert not seen["config"].local
    assert seen["url"].endswith(f"/#token={seen['token']}")
    assert served(monkeypatch, "--host", "0.0.0.0", "--insecure-no-token")["token"] is None
    assert served(monkeypatch, "--host", "0.0.0.0", "--token", "my-own-token")["token"] == "my-own-token"


@pytest.mark.parametrize(
    "typed", [("--token", "long-enough", "--insecure-no-token"), ("--token", "short"), ("--max-batch", "0")]
)
def test_what_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        served(monkeypatch, *typed)


def test_limits_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    config = served(monkeypatch, "--max-text", "50", "--timeout", "5", "--allow-origin", "http://a.b")[
        "config"
    ]
    assert (config.max_text, config.timeout, config.allow_origin) == (50, 5.0, ("http://a.b",))


def test_a_port_that_is_taken() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UnavailableError, match="Cannot listen"),
    ):
        serve.listen("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("a.b", False),
    ],
)
def test_what_is_this_machine(host: str, local: bool) -> None:
    assert serve.is_loopback(host) is local


def test_two_models_of_one_name() -> None:
    with pytest.raises(UsageError, match="called"):
        serve._load(("=x",), "cpu")
