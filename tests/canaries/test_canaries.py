"""Canaries: made, written, read back, and looked for."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from unembed.canaries import CanaryKind, canary_hits, make_canaries, planted, read_canaries, write_canaries
from unembed.errors import DataError, UsageError
from unembed.personal import Extent

MADE = make_canaries(40, seed=3)


def test_a_seed_gives_the_same_and_none_gives_others() -> None:
    assert make_canaries(40, seed=3) == MADE
    assert make_canaries(40, seed=4) != MADE
    assert {canary.secret for canary in make_canaries(8)}.isdisjoint(
        canary.secret for canary in make_canaries(8)
    )


def test_every_kind_in_turn_with_different_secrets_and_its_bits() -> None:
    assert {canary.kind for canary in MADE} == set(CanaryKind) - {CanaryKind.OTHER}
    assert len({canary.secret for canary in MADE}) == len({canary.id for canary in MADE}) == 40
    assert all(canary.secret in canary.text for canary in MADE)
    bits = {canary.kind: canary.bits for canary in MADE}
    assert bits[CanaryKind.PIN] == round(6 * math.log2(10), 1)
    assert bits[CanaryKind.CODE] == round(9 * math.log2(30), 1)
    assert min(bits.values()) > 19


def test_they_are_short_enough_to_come_back(bundled) -> None:
    """The bundled model writes 32 tokens; a canary that cannot fit measures nothing."""
    tokenizer = bundled.encoder.tokenizer()
    longest = max(len(tokenizer.encode(canary.text).ids) for canary in make_canaries(400, seed=1))
    assert longest <= 32


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"canaries{suffix}"
    write_canaries(path, MADE)
    assert read_canaries(path) == MADE


def test_plain_text_has_the_sentences_alone(tmp_path: Path) -> None:
    path = tmp_path / "canaries.txt"
    write_canaries(path, MADE)
    assert path.read_text(encoding="utf-8").splitlines() == [canary.text for canary in MADE]
    with pytest.raises(UsageError, match="not read from"):
        read_canaries(path)


def test_ones_own_need_a_text_and_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("\ufefftext,secret\nThe word is plugh.,plugh\n", encoding="utf-8")
    [own] = read_canaries(path)
    assert (own.id, own.kind, own.bits) == ("canary-0001", CanaryKind.OTHER, 0.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no canaries"),
        ("not json\n", "line 1, is not JSON"),
        ('{"text": "x"}\n', "no 'text' and 'secret'"),
        ('["x"]\n', "no 'text' and 'secret'"),
        ('{"text": "x", "secret": "y"}\n', "does not stand in its text"),
        ('{"text": "x", "secret": "x", "kind": "odd"}\n', "is no canary"),
        ('{"text": "x", "secret": "x", "bits": "many"}\n', "is no canary"),
    ],
)
def test_damaged_files_are_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "canaries.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_canaries(path)


def test_hits() -> None:
    code, pin, name, phrase = (replace(canary) for canary in MADE[:4])
    code = replace(code, secret="QX7-4MB-9TZ")
    pin = replace(pin, secret="482913")
    name = replace(name, secret="Dmitri Nikolai Benavides")
    phrase = replace(phrase, secret="oxygen freedom neck zinc")
    whole = canary_hits(
        [code, pin, name, phrase],
        [
            "nothing",
            "is qx7 - 4mb - 9tz.",
            "dial 482913",
            "dmitri nikolai benavides",
            "oxygen freedom neck zinc",
        ],
    )
    assert [(hit.extent, hit.row, hit.share) for hit in whole] == [
        (Extent.WHOLE, row, 1.0) for row in (1, 2, 3, 4)
    ]
    part = canary_hits(
        [code, pin, name, phrase],
        ["it is qx7 4mb", "dial 4829", "it was dmitri benavides", "zinc neck freedom oxygen"],
    )
    assert [hit.extent for hit in part] == [Extent.PART] * 4
    assert [hit.row for hit in part] == [0, 1, 2, 3]
    assert all(0.5 <= hit.share < 1 for hit in part)
    none = canary_hits([code, pin, name, phrase], ["dial 49 for dmitri", "my neck hurts"])
    assert [(hit.extent, hit.row) for hit in none] == [(Extent.NONE, None)] * 4
    assert canary_hits([code], [])[0].extent is Extent.NONE


def test_planted_finds_the_rows() -> None:
    texts = ["nothing", f"chunk: {MADE[5].text} and more"]
    assert planted(MADE[5:7], texts) == [1, None]


def test_too_many_or_none_are_refused() -> None:
    for count in (0, 10**7):
        with pytest.raises(UsageError):
            make_canaries(count)
