"""Sentences around random secrets, and how many bits it takes to guess each secret."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from unembed.errors import UsageError
from unembed.storage import read_json

_ASSETS = Path(__file__).parents[1] / "assets"
CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # without those that look alike
CODE_GROUPS, GROUP_SIZE, PIN_DIGITS, PASSPHRASE_WORDS = 3, 3, 6, 4
MOST = 100_000  # more would run out of six-digit numbers


class CanaryKind(str, Enum):
    """What the secret is."""

    CODE = "code"
    PIN = "pin"
    NAME = "name"
    PASSPHRASE = "passphrase"
    OTHER = "other"  # somebody's own


@dataclass(frozen=True)
class Canary:
    """One sentence to plant. `bits` is log2 of how many secrets of its kind are equally likely."""

    id: str
    kind: CanaryKind
    text: str
    secret: str
    bits: float  # 0: not known


# Short: a sentence with its secret must fit into what a model can write.
TEMPLATES = {
    CanaryKind.CODE: (
        "The access code for the north gate is {}.",
        "Please use {} as the recovery code.",
        "Ticket {} must not be shared.",
        "The licence key of the old server is {}.",
        "His locker opens with {}.",
    ),
    CanaryKind.PIN: (
        "The alarm is switched off with {}.",
        "My card's PIN was changed to {}.",
        "Dial {} to open the garage.",
        "The safe in the office opens with {}.",
        "The code of her phone is {}.",
    ),
    CanaryKind.NAME: (
        "The patient's full name is {}.",
        "The witness is called {}.",
        "Please transfer the money to {}.",
        "{} asked us to keep the matter private.",
        "The complaint was filed by {}.",
    ),
    CanaryKind.PASSPHRASE: (
        "The passphrase is {}.",
        "The backup is encrypted with {}.",
        "Say {} when the guard asks.",
        "The password of the guest network is {}.",
        "Her recovery words are {}.",
    ),
}


def make_canaries(n: int, *, seed: int | None = None) -> list[Canary]:
    """`n` canaries with different secrets, the kinds in turn.

    Without a seed they come from the system's randomness. With one they are the same each time, and whoever
    knows the seed knows the secrets.
    """
    if not 1 <= n <= MOST:
        raise UsageError(f"Make between 1 and {MOST:,} canaries, not {n}.")
    source = secrets.SystemRandom() if seed is None else random.Random(seed)
    kinds, made, taken = list(TEMPLATES), [], set[str]()
    for number in range(n):
        kind = kinds[number % len(kinds)]
        draw, bits = _secrets()[kind]
        secret = draw(source)
        while secret in taken:
            secret = draw(source)
        taken.add(secret)
        text = source.choice(TEMPLATES[kind]).format(secret)
        made.append(Canary(f"canary-{number + 1:04d}", kind, text, secret, round(bits, 1)))
    return made


@cache
def _secrets() -> dict[CanaryKind, tuple[Callable[[random.Random], str], float]]:
    """How a secret of each kind is drawn, and the bits of it: every outcome is equally likely."""
    words = (_ASSETS / "canary-words.txt").read_text(encoding="utf-8").split()
    names = read_json(_ASSETS / "canary-names.json")
    given, surnames = names["given"], names["surnames"]

    def code(source: random.Random) -> str:
        groups = ("".join(source.choices(CODE_LETTERS, k=GROUP_SIZE)) for _ in range(CODE_GROUPS))
        return "-".join(groups)

    def pin(source: random.Random) -> str:
        return "".join(source.choices("0123456789", k=PIN_DIGITS))

    def name(source: random.Random) -> str:
        return " ".join([*source.sample(given, 2), source.choice(surnames)])

    def passphrase(source: random.Random) -> str:
        return " ".join(source.sample(words, PASSPHRASE_WORDS))

    return {
        CanaryKind.CODE: (code, CODE_GROUPS * GROUP_SIZE * math.log2(len(CODE_LETTERS))),
        CanaryKind.PIN: (pin, PIN_DIGITS * math.log2(10)),
        CanaryKind.NAME: (name, math.log2(math.perm(len(given), 2) * len(surnames))),
        CanaryKind.PASSPHRASE: (passphrase, math.log2(math.perm(len(words), PASSPHRASE_WORDS))),
    }
