"""`unembed serve` as people type it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import tiny
import toy
from unembed import Inverter
from unembed.cli import serve
from unembed.encoders import load_encoder
from unembed.errors import UnavailableError, UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.server import http_server
from unembed.server.app import create_app


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights for the bundled encoder."""
    encoder = load_encoder()
    return tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info), tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose encoder nobody has."""
    encoder = toy.ToyEncoder(name="lost-encoder")
    return tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info), tmp_path_factory.mktemp("lost"))


@contextlib.contextmanager
def running(*typed: str) -> Iterator[tuple[subprocess.Popen, dict]]:
    """`unembed serve --json` as a process, and what it prints when it listens."""
    command = [sys.executable, "-c", "from unembed.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", "--json", *typed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


ENDLESS = ("--max-encoder-calls", "1000000000", "--search-seconds", "100000", "--timeout", "200000")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_real_encoder_until_it_is_stopped(model: Path, lost: Path, number: int) -> None:
    """Also in the middle of a search that would go on for a day: the search ends, its client is told."""
    with running("--model", f"mine={model}", "--model", f"other={lost}", *ENDLESS) as (process, said):
        assert said["models"] == ["mine", "other"]
        url = said["url"]
        text = "A secret that nobody must read."
        answer = httpx.post(
            f"{url}api/invert", json={"texts": [text], "steps": 2, "candidates": 1}, timeout=120
        )
        assert answer.status_code == 200
        assert "Embeddings are" in httpx.get(url, timeout=120).text
        search = {"texts": [text], "strategy": "guided"}
        with (
            httpx.stream("POST", f"{url}api/invert/stream", json=search, timeout=120) as stream,
            ThreadPoolExecutor() as threads,
        ):
            lines = stream.iter_lines()
            next(line for line in lines if line == "event: search")
            waiting = threads.submit(httpx.post, f"{url}api/encode", json={"texts": [text]}, timeout=120)
            while httpx.get(f"{url}health", timeout=120).json()["waiting"] == 0:
                time.sleep(0.01)
            process.send_signal(number)
            heard = list(lines)
            assert (waiting.result().status_code, waiting.result().json()["code"]) == (503, "stopping")
        last = json.loads(heard[heard.index("event: error") + 1].removeprefix("data: "))
        assert last["code"] == "stopping"
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "secret" not in errors
    logged = [json.loads(line) for line in errors.splitlines()]
    assert all(line["event"] for line in logged)
    [problem] = [line for line in logged if line["event"] == "no_encoder"]
    assert (problem["model"], problem["problem"]) == ("other", "There is no encoder 'lost-encoder'.")


def test_a_missing_encoder_is_said_at_the_start(lost: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = create_app({"other": Inverter.from_pretrained(lost)})
    serve.announce(app, "http://localhost:1/", token=None, as_json=False)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("Warning: the model other cannot encode: There is no encoder 'lost-encoder'.")
    assert "unembed encoders" in first
    assert "http://localhost:1/" in second


def test_nothing_is_announced_before_the_server_is_ready(
    lost: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []

    def starting(app: object, sock: socket.socket, on_ready: Callable[[], None]) -> None:
        said.append(capsys.readouterr().err)
        on_ready()
        said.append(capsys.readouterr().err)

    monkeypatch.setattr(http_server, "serve_until_stopped", starting)
    serve.command.main(["--port", "0", "--model", str(lost)], standalone_mode=False)
    before, after = said
    assert "unembed is at" not in before
    assert "unembed is at" in after


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """asyncio sets TCP_NODELAY on the connections that it accepts if the listening socket says it is TCP."""

    async def main() -> int:
        option: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            option.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        sock = serve.listen("127.0.0.1", 0)
        async with await asyncio.start_server(accepted, sock=sock):
            _, writer = await asyncio.open_connection(*sock.getsockname())
            found = await option
            writer.close()
        return found

    assert asyncio.run(main()) != 0


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


def test_two_models_of_one_name(lost: Path) -> None:
    with pytest.raises(UsageError, match=f"called '{lost.name}'"):
        serve._load((str(lost), f"{lost.name}={lost}"), "cpu", trust_remote_code=False)
    with pytest.raises(UsageError, match="no name"):
        serve._load(("=x",), "cpu", trust_remote_code=False)


def test_an_adapter_without_a_map_cannot_be_served(lost: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoint, "has_map", False)
    with pytest.raises(UsageError, match="without pairs"):
        serve._load((str(lost),), "cpu", trust_remote_code=False)
