"""Addresses of stores: `KIND:PATH[#COLLECTION]`, `KIND://[USER@]HOST[:PORT][/PATH][?OPTION=VALUE][#COLLECTION]`,
or the plain path of a file.

A password never stands in an address: it would stay in the shell's history, and in the list of processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from unembed.errors import UsageError

_SCHEME = re.compile(r"([a-z][a-z0-9-]{2,}):(.*)", re.DOTALL)  # at least three letters: C:\ is a path
_FORMS = "Write KIND:PATH#COLLECTION, KIND://HOST:PORT#COLLECTION, or the path of a file of vectors."


@dataclass(frozen=True)
class Address:
    """An address in its parts; it holds no password."""

    given: str
    kind: str  # "" for the path of a file
    path: str = ""  # of a local store; of a server: what follows the host, without its slash
    host: str | None = None  # None: a local store
    port: int | None = None
    user: str | None = None
    collection: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.given

    def local_path(self, *, folder: bool = False) -> Path:
        """The store's file or folder, which must exist."""
        path = Path(self.path).expanduser()
        what = "folder" if folder else "file"
        if not path.exists():
            raise UsageError(
                f"There is no {what} {path}.", hint=f"'{self.given}' names a {what} of this machine."
            )
        if path.is_dir() != folder:
            raise UsageError(
                f"{path} is a {'file' if folder else 'folder'}, not a {what}.",
                hint=f"A store of the kind '{self.kind}' is a {what}.",
            )
        return path

    def check_options(self, *known: str) -> None:
        """Refuse options that the kind of store does not have."""
        for name in self.options:
            if name not in known:
                raise UsageError(
                    f"An address of the kind '{self.kind}' has no option '{name}'.",
                    hint=f"Options: {', '.join(known)}."
                    if known
                    else f"Write {self.kind}://HOST:PORT#COLLECTION.",
                )


def parse_address(given: str) -> Address:
    """The parts of what was typed. What kinds there are, the registry knows."""
    match = _SCHEME.fullmatch(given)
    if match is None or Path(given).expanduser().exists():
        return Address(given, "", path=given)
    kind, rest = match.groups()
    if rest.startswith("//"):
        return _server(given, kind)
    path, mark, collection = rest.rpartition("#")
    if not mark or Path(rest).expanduser().exists():
        path, collection = rest, ""
    if not path:
        raise UsageError(f"'{given}' names no store.", hint=_FORMS)
    return Address(given, kind, path=path, collection=collection or None)


def _server(given: str, kind: str) -> Address:
    try:
        parts = urlsplit(given)
        host, port = parts.hostname, parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        # The reason may quote what follows a colon, which may be a password: it is not shown.
        raise UsageError(f"This {kind} address cannot be read.", hint=_FORMS) from None
    if parts.password is not None:
        raise UsageError(
            f"The {kind} address carries a password, which stays in the shell's history.",
            hint="Leave it out: docs/stores.md says which variable of the environment each store reads.",
        )
    if not host:
        raise UsageError(f"'{given}' names no host.", hint=_FORMS)
    return Address(
        given,
        kind,
        path=unquote(parts.path).strip("/"),
        host=host,
        port=port,
        user=unquote(parts.username) if parts.username else None,
        collection=unquote(parts.fragment) or None,
        options=options,
    )
