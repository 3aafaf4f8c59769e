"""`unembed serve`: the page on which a sentence comes back from its vector, and its API."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import build_config, options_from, trust_option
from unembed.errors import UnavailableError, UsageError
from unembed.extras import require
from unembed.server.config import ServeConfig

if TYPE_CHECKING:
    from fastapi import FastAPI

    from unembed.inverter import Inverter
    from unembed.server.service import Service

_EXAMPLES = """\b
Examples:
  unembed serve
  unembed serve --open
  unembed serve --model runs/short/best --model german=runs/de/best
  unembed serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "-m", "--model", "models", multiple=True, metavar="[NAME=]MODEL",
    help="Folder or hub id of a trained model; repeat for several.  [default: the bundled one]",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0: any free one.",
)
@click.option(
    "--token", envvar="UNEMBED_TOKEN", help="Bearer token that clients must send; also from UNEMBED_TOKEN."
)
@click.option(
    "--insecure-no-token",
    is_flag=True,
    help="Listen on another address and let in everybody who reaches it.",
)
@click.option("--device", default="cpu", show_default=True, help="Where the models run: cpu, cuda, mps.")
@trust_option
@click.option(
    "--threads", type=click.IntRange(min=1), help="Processor threads for the model.  [default: all]"
)
@options_from(ServeConfig, skip=("token", "local", "gather"))
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@json_option
def command(
    models: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    insecure_no_token: bool,
    device: str,
    trust_remote_code: bool,
    threads: int | None,
    open_page: bool,
    as_json: bool,
    **typed: Any,
) -> None:
    """Serve the live demonstration and the API.

    By default only this machine can reach it. On another address (--host) clients need a token: yours, or one
    that the command makes up and prints. The log (JSON lines on stderr) holds no texts and no vectors. Ctrl-C
    or SIGTERM stops the server, searches included; the exit code is then 0.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require(module, extra="serve", purpose="unembed serve")
    local = is_loopback(host)
    if token is not None and insecure_no_token:
        raise UsageError(
            "--token and --insecure-no-token contradict each other.", hint="Leave one of them out."
        )
    if token is None and not local and not insecure_no_token:
        token = secrets.token_urlsafe(24)
    config = build_config(ServeConfig, {**typed, "token": token, "local": local})
    sock = listen(host, port)  # before the models are loaded: a taken port is reported at once
    url = address(host, sock.getsockname()[1], token)
    loaded = _load(models, device, trust_remote_code=trust_remote_code)
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    _serve(loaded, config, sock, url, token=token, open_page=open_page, as_json=as_json)


def _serve(
    models: dict[str, Inverter],
    config: ServeConfig,
    sock: socket.socket,
    url: str,
    *,
    token: str | None,
    open_page: bool,
    as_json: bool,
) -> None:
    from unembed.server.app import create_app
    from unembed.server.http_server import serve_until_stopped

    app = create_app(models, config)

    def on_ready() -> None:
        announce(app, url, token=token, as_json=as_json)
        if open_page:
            click.launch(url)

    serve_until_stopped(app, sock, on_ready)


def announce(app: FastAPI, url: str, *, token: str | None, as_json: bool) -> None:
    """Where the server is, and what it cannot do: sentences, or with --json data and lines of the log."""
    service: Service = app.state.service
    for name, engine in service.engines.items():
        error = engine.encoder_error
        if error is not None and as_json:
            service.log("no_encoder", model=name, problem=error.message, hint=error.hint)
        elif error is not None:
            say(f"Warning: the model {name} cannot encode: {' '.join(str(error).split())}")
    if as_json:
        print_json({"url": url, "models": list(service.engines), "token": token})
        return
    say(f"unembed is at {url}  (Ctrl-C ends it)")
    if token is None and not service.config.local:
        say("Nobody needs a token: everybody who reaches this address can use it.")


def _load(models: tuple[str, ...], device: str, *, trust_remote_code: bool) -> dict[str, Inverter]:
    from unembed.inverter import Inverter

    if not models:
        return {"bundled": Inverter.from_pretrained(device=device, trust_remote_code=trust_remote_code)}
    loaded: dict[str, Inverter] = {}
    for given in models:
        name, sign, location = given.partition("=")
        if not sign:
            name, location = Path(given).name or given, given
        if not name:
            raise UsageError(
                f"--model {given}: there is no name before the '='.", hint="Write NAME=MODEL, or MODEL alone."
            )
        if name in loaded:
            raise UsageError(f"Two models are called '{name}'.", hint="Name them: --model NAME=MODEL.")
        loaded[name] = Inverter.from_pretrained(location, device=device, trust_remote_code=trust_remote_code)
        loaded[name].checkpoint.check_map()  # clients invert by the vectors alone
    return loaded


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, or an error that says why not."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # The protocol by name: asyncio turns off Nagle's algorithm (TCP_NODELAY) only where it reads TCP
        # there. With it, an answer's body waits until the client acknowledges the headers: 40 ms on Linux.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(1024)
    except OSError as error:
        raise UnavailableError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}.",
            hint="Choose another with --port; 0 takes any that is free.",
        ) from error
    return sock


def address(host: str, port: int, token: str | None) -> str:
    """What to open in a browser. The token is behind the #: browsers do not send that part."""
    name = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"#token={token}" if token else "")
