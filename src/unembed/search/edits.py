"""Edits: from a text to others that may be nearer, with masks for the denoiser to fill.

Each takes the entries of a text and a random generator and returns entries, MASK among them. None
returns what it was given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MASK = -1  # whatever the model's own number for it
Entries = tuple[int, ...]
Edit = Callable[[Entries, np.random.Generator], Entries]

LONGEST_SPAN = 5
MOST_SCATTERED = 3


def span(text: Entries, random: np.random.Generator) -> Entries:
    """Mask some words in a row."""
    size = int(random.integers(1, min(LONGEST_SPAN, len(text)) + 1))
    first = int(random.integers(0, len(text) - size + 1))
    return (*text[:first], *([MASK] * size), *text[first + size :])


def scatter(text: Entries, random: np.random.Generator) -> Entries:
    """Mask some words anywhere."""
    size = int(random.integers(1, min(MOST_SCATTERED, len(text)) + 1))
    masked = set(random.choice(len(text), size=size, replace=False).tolist())
    return tuple(MASK if position in masked else entry for position, entry in enumerate(text))


def insert(text: Entries, random: np.random.Generator) -> Entries:
    """Insert a word or two; perhaps a word beside them is wrong too."""
    position = int(random.integers(0, len(text) + 1))
    grown = [*text[:position], *([MASK] * (2 if random.random() < 0.2 else 1)), *text[position:]]
    if random.random() < 0.5:
        beside = min(max(position + int(random.choice([-1, 1])), 0), len(grown) - 1)
        grown[beside] = MASK
    return tuple(grown)


def delete(text: Entries, random: np.random.Generator) -> Entries:
    """Leave a word out; perhaps the one beside it is wrong too."""
    if len(text) < 2:
        return (MASK,)
    position = int(random.integers(0, len(text)))
    less = [*text[:position], *text[position + 1 :]]
    if random.random() < 0.5:
        less[min(position, len(less) - 1)] = MASK
    return tuple(less)


def move(text: Entries, random: np.random.Generator) -> Entries:
    """Move some words in a row elsewhere."""
    if len(text) < 2:
        return (MASK,)
    size = int(random.integers(1, min(LONGEST_SPAN, len(text) - 1) + 1))
    first = int(random.integers(0, len(text) - size + 1))
    other = [position for position in range(len(text) - size + 1) if position != first]
    return _moved(text, first, size, int(random.choice(other)))


def _moved(text: Entries, first: int, size: int, position: int) -> Entries:
    """Some words in a row, put at a position among the rest."""
    rest = (*text[:first], *text[first + size :])
    return (*rest[:position], *text[first : first + size], *rest[position:])


def moves(text: Entries, longest: int = LONGEST_SPAN) -> list[Entries]:
    """All texts in which some words in a row, at most so many, stand elsewhere."""
    found = dict.fromkeys(
        _moved(text, first, size, position)
        for size in range(1, min(longest, len(text) - 1) + 1)
        for first in range(len(text) - size + 1)
        for position in range(len(text) - size + 1)
    )
    found.pop(text, None)
    return list(found)


def swap(text: Entries, random: np.random.Generator) -> Entries:
    """Swap two words."""
    if len(text) < 2:
        return (MASK,)
    one, two = sorted(random.choice(len(text), size=2, replace=False).tolist())
    moved = list(text)
    moved[one], moved[two] = text[two], text[one]
    return tuple(moved)


def rebuild(text: Entries, random: np.random.Generator) -> Entries:
    """Keep a few words where they are, and mask the rest."""
    stays = random.random(len(text)) < random.uniform(0.2, 0.6)
    masked = tuple(entry if keep else MASK for entry, keep in zip(text, stays.tolist(), strict=True))
    return masked if MASK in masked else span(text, random)


# How often each is tried; benchmarks/guided.py --edits counts what each of them gains.
EDITS: dict[str, tuple[float, Edit]] = {
    "span": (3.0, span),
    "scatter": (3.0, scatter),
    "insert": (2.0, insert),
    "delete": (2.0, delete),
    "move": (1.5, move),
    "swap": (1.5, swap),
    "rebuild": (0.5, rebuild),
}
