"""Who may ask what: token, host, origin, size of the body; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unembed.server.config import ServeConfig
from unembed.server.problems import Problem

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
BODY_SECONDS = 20.0  # for a client to send its request
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityHeaders:
    """The same headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, guarded)


class Guard:
    """Refuses requests before the application sees them: host, origin, token, size of the body."""

    def __init__(self, app: ASGIApp, config: ServeConfig) -> None:
        self.app = app
        self.config = config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(headers)
            if scope["path"].startswith(("/api/", "/metrics")) and scope["method"] != "OPTIONS":
                self._check_token(headers)
            self._check_size(headers.get("content-length", "0"))
            if scope["method"] in ("POST", "PUT", "PATCH"):
                receive = await self._read(receive)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        """Refuse foreign names that point to this machine (DNS rebinding)."""
        if not self.config.local:
            return
        host = _host_name(headers.get("host", ""))
        if host not in LOOPBACK:
            raise Problem(421, "host", "This server answers to this machine's own names only.")

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self.config.allow_origin:
            return
        if urlsplit(origin).netloc != headers.get("host", ""):
            raise Problem(403, "origin", "Pages of other sites may not call this server.")

    def _check_token(self, headers: Headers) -> None:
        if self.config.token is None:
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.config.token.encode()):
            raise Problem(
                401,
                "token",
                "This server asks for a token.",
                hint="Open the link that `unembed serve` printed, or send Authorization: Bearer TOKEN.",
            )

    def _check_size(self, size: str) -> None:
        if not size.isdecimal() or int(size[:20]) > self.config.max_body:
            raise Problem(413, "body", f"A request may have {self.config.max_body:,} bytes at most.")

    async def _read(self, receive: Receive) -> Receive:
        """The body, whole and bounded in size and time; then the connection's further messages."""
        try:
            body = await asyncio.wait_for(self._collect(receive), BODY_SECONDS)
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise Problem(408, "slow", "The request took too long to arrive.") from error
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        return replay

    async def _collect(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return bytes(body)
            body += message.get("body", b"")
            self._check_size(str(len(body)))
            if not message.get("more_body", False):
                return bytes(body)


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
