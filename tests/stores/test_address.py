"""Addresses: their parts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from unembed.errors import UsageError
from unembed.stores.address import Address, parse_address
from unembed.stores.registry import KINDS, is_store_address, open_store


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("vectors.npy", Address("", "", path="vectors.npy")),
        (r"C:\vectors.npy", Address("", "", path=r"C:\vectors.npy")),
        ("qdrant:./a#b", Address("", "qdrant", path="./a", collection="b")),
        ("qdrant:./a", Address("", "qdrant", path="./a")),
        ("chroma:/a/b#c/../d", Address("", "chroma", path="/a/b", collection="c/../d")),
        ("qdrant://h#c", Address("", "qdrant", host="h", collection="c")),
        ("qdrants://h:1/p/q#c%20d", Address("", "qdrants", path="p/q", host="h", port=1, collection="c d")),
        ("redis://me@[::1]:7/2#doc:", Address("", "redis", "2", "::1", 7, "me", "doc:")),
        (
            "pgvector://me@h/db?table=a.b&column=c",
            Address("", "pgvector", "db", "h", user="me", options={"table": "a.b", "column": "c"}),
        ),
    ],
)
def test_the_parts_of_an_address(given: str, parts: Address) -> None:
    found = parse_address(given)
    assert str(found) == given
    assert {**vars(found), "given": ""} == vars(parts)


def test_a_file_with_a_strange_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("redis:a#b.npy").touch()
    assert not is_store_address("redis:a#b.npy")
    Path("c#d").mkdir()
    assert parse_address("lancedb:c#d") == Address("lancedb:c#d", "lancedb", path="c#d")


@pytest.mark.parametrize("kind", ["pgvector", "qdrant", "redis", "chroma", "milvus"])
@pytest.mark.parametrize("user", ["me:s3cret", ":s3cret"])
def test_a_password_in_an_address_is_refused_and_not_repeated(kind: str, user: str) -> None:
    with pytest.raises(UsageError, match="carries a password") as error:
        open_store(f"{kind}://{user}@host:1/a#b")
    assert "s3cret" not in str(error.value)
    assert "environment" in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("qdrant:", "names no store"),
        ("qdrant://", "names no host"),
        ("pgvector://h:s3cret/db", "cannot be read"),
        ("qdrnt:./a", "no store of the kind 'qdrnt'"),
        ("duckdb://h/a", "A duckdb store is a file or folder"),
        ("redis:./a", "A redis store is a server"),
        ("redis://h/documents", "'documents' is no number"),
        ("redis://h?api_key=s3cret", "no option 'api_key'"),
        ("pgvector://h/a?tables=b", "no option 'tables'"),
        ("nothing.npy", "There is no file"),
        ("nothing.xyz", "There is no file"),
    ],
)
def test_what_cannot_be_an_address_is_one_line_with_a_hint(given: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        open_store(given)
    assert message in error.value.message
    assert error.value.hint
    assert "s3cret" not in str(error.value)


def test_a_timeout_is_more_than_nothing() -> None:
    with pytest.raises(UsageError, match="timeout"):
        open_store("x.npy", timeout=0)


def test_every_kind_has_an_example_that_is_its_own() -> None:
    for name, kind in KINDS.items():
        found = parse_address(kind.example)
        assert found.kind == name
        assert (kind.server if found.host else kind.local) is not None
