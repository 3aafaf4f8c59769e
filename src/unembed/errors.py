"""Errors that a person can act on: what went wrong, and what to do next.

Every error that unembed raises on purpose is an `UnembedError`. Its class decides the exit code of
the command line, so that scripts can tell a typing mistake from a damaged file.
"""

from __future__ import annotations


class UnembedError(Exception):
    """Something went wrong that the user can do something about."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(UnembedError):
    """The call itself is wrong: an unknown name, options that contradict each other, a missing file."""

    exit_code = 2


class MissingExtraError(UnembedError):
    """An optional dependency is not installed; the hint is the command that installs it."""

    exit_code = 3


class DataError(UnembedError):
    """Input is damaged or does not fit: NaN, wrong dimension, truncated shard, digest mismatch."""

    exit_code = 4


class MismatchError(UnembedError):
    """An existing output was made with other settings; continuing would mix the two."""

    exit_code = 5


class UnavailableError(UnembedError):
    """Something outside this process does not answer: a hub, an endpoint, a store, a full disk."""

    exit_code = 6


class FindingsError(UnembedError):
    """An audit did its work, and what it looked at gives away more than is allowed."""

    exit_code = 7
