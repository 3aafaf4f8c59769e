"""`unembed serve`: the page on which a sentence comes back from its vector, and its API."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import build_config, trust_option
from unembed.errors import UnavailableError, UsageError
from unembed.extras import require

if TYPE_CHECKING:
    from unembed.inverter import Inverter

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
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one."
)
@click.option("--token", envvar="UNEMBED_TOKEN", help="What clients must send; also from UNEMBED_TOKEN.")
@click.option(
    "--insecure-no-token",
    is_flag=True,
    help="Listen beyond this machine and let everybody in who gets there.",
)
@click.option("--allow-origin", multiple=True, metavar="URL", help="A site whose pages may call the API.")
@click.option("--device", default="cpu", show_default=True, help="Where the models run: cpu, cuda, mps.")
@trust_option
@click.option("--threads", type=click.IntRange(min=1), help="Processor threads of the model.  [default: all]")
@click.option("--max-text", type=int, help="Characters a text.  [default: 2000]")
@click.option("--max-vectors", type=int, help="Texts or vectors a request.  [default: 64]")
@click.option("--max-body", type=int, help="Bytes a request.  [default: 4000000]")
@click.option("--max-batch", type=int, help="Vectors that share a forward pass.  [default: 64]")
@click.option("--max-waiting", type=int, help="Vectors that may wait; beyond that, 503.  [default: 512]")
@click.option("--max-client", type=int, help="Of these, of one address; beyond that, 429.  [default: 128]")
@click.option("--max-encoder-calls", type=int, help="Texts that a guided request may embed.  [default: 2000]")
@click.option("--search-seconds", type=float, help="When a guided search gives what it has.  [default: 20]")
@click.option("--timeout", type=float, help="Seconds until a request is given up.  [default: 60]")
@click.option("--log-content", is_flag=True, help="Log texts and vectors too. Off, the log holds neither.")
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

    It listens on this machine only. Beyond it (--host), clients must know a token: yours, or one that is
    made up and printed. The log (JSON lines on stderr) holds no texts and no vectors.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require(module, extra="serve", purpose="unembed serve")
    from unembed.server.config import ServeConfig

    local = is_loopback(host)
    if token is not None and insecure_no_token:
        raise UsageError("--token and --insecure-no-token contradict each other.")
    if token is None and not local and not insecure_no_token:
        token = secrets.token_urlsafe(24)
    config = build_config(ServeConfig, {**typed, "token": token, "local": local})
    sock = listen(host, port)  # before the models are loaded: a port that is taken is told at once
    url = address(host, sock.getsockname()[1], token)
    loaded = _load(models, device, trust_remote_code=trust_remote_code)
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    _serve(loaded, config, sock, url, token=token, open_page=open_page, as_json=as_json)


def _serve(
    models: dict[str, Inverter],
    config: Any,
    sock: socket.socket,
    url: str,
    *,
    token: str | None,
    open_page: bool,
    as_json: bool,
) -> None:
    import uvicorn

    from unembed.server.app import create_app

    app = create_app(models, config)
    if as_json:
        print_json({"url": url, "models": list(models), "token": token})
    else:
        say(f"unembed is at {url}  (Ctrl-C ends it)")
        if token is None and not config.local:
            say("Nobody needs a token: everybody who reaches this address can use it.")
    if open_page:
        click.launch(url)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=15,
            limit_concurrency=1024,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=32_768,
        )
    )
    # uvicorn raises the interrupt again after it has shut down; by then everything is in order.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[sock])


def _load(models: tuple[str, ...], device: str, *, trust_remote_code: bool) -> dict[str, Inverter]:
    from unembed.inverter import Inverter

    if not models:
        return {"bundled": Inverter.from_pretrained(device=device, trust_remote_code=trust_remote_code)}
    loaded: dict[str, Inverter] = {}
    for given in models:
        name, sign, place = given.partition("=")
        if not sign:
            name, place = Path(given).name or given, given
        if not name or name in loaded:
            raise UsageError(f"Two models are called '{name}'.", hint="Name them: --model NAME=MODEL.")
        loaded[name] = Inverter.from_pretrained(place, device=device, trust_remote_code=trust_remote_code)
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
        sock = socket.socket(family, socket.SOCK_STREAM)
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
    """What to open in a browser. The token stands behind the #: browsers do not send that part."""
    name = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"#token={token}" if token else "")
