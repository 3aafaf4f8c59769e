"""Models that want a word before every text ("query: "): another prefix makes other vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from unembed.errors import UsageError
from unembed.storage import digest_json

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

E5 = {"query": "query: ", "passage": "passage: "}


class Prefixed(NamedTuple):
    """An encoder's identity with its prefix."""

    name: str
    prefix: str
    digest: str


def with_prefix(entry: EncoderEntry, prefixes: Mapping[str, str], digest: str) -> Prefixed:
    """The prefix that the entry's prompt names; the encoder with it is one of its own."""
    if entry.prompt is None:
        return Prefixed(entry.name, "", digest)
    if entry.prompt not in prefixes:
        known = ", ".join(prefixes)
        raise UsageError(f"{entry.name} has no prompt '{entry.prompt}'.", hint=f"Its prompts: {known}.")
    prefix = prefixes[entry.prompt]
    return Prefixed(f"{entry.name}#{entry.prompt}", prefix, digest_json([digest, prefix]))
