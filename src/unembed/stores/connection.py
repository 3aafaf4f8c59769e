"""Talking to servers: a few attempts, pages of a bounded size, errors that say what to do, no secrets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

from unembed.errors import UnavailableError, UnembedError

ATTEMPTS = 3
PAUSE = 0.3  # seconds before the second attempt; twice as long before the next
_SHOWN = 200  # characters of a client's reason
_NUMBERS = 1 << 19  # of one page: two megabytes as float32, ten as JSON

Answer = TypeVar("Answer")


def patiently(
    work: Callable[[], Answer],
    *,
    passing: Callable[[Exception], bool],
    explain: Callable[[Exception], UnembedError | None],
) -> Answer:
    """What `work` returns. After an error that may pass it is called again; others are explained at once."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return work()
        except UnembedError:
            raise
        except Exception as error:
            if attempt < ATTEMPTS and passing(error):
                time.sleep(PAUSE * 2 ** (attempt - 1))
                continue
            explained = explain(error)
            if explained is None:
                raise
            raise explained from error
    raise AssertionError("unreachable")


def page_size(batch: int, dimension: int | None) -> int:
    """At most `batch` rows, and not so many numbers that one answer takes long."""
    return max(1, min(batch, _NUMBERS // max(1, dimension or 1)))


def silent(address: object, reason: object, *, rows: int = 0) -> UnavailableError:
    """The server does not answer, or stopped answering after some rows."""
    when = f"stopped answering after {rows:,} rows" if rows else "does not answer"
    return UnavailableError(
        f"{address} {when}: {one_line(reason)}",
        hint="Check host and port, and that the server runs; then try again.",
    )


def refused(address: object, variables: str, *, given: bool) -> UnavailableError:
    """The server wants credentials, or others."""
    hint = f"Check {variables}." if given else f"Set {variables}."
    return UnavailableError(
        f"{address} refused the {'given' if given else 'missing'} credentials.", hint=hint
    )


def secret(*names: str) -> str | None:
    """The first of these variables of the environment that is set."""
    return next((value for name in names if (value := os.environ.get(name))), None)


def one_line(reason: object) -> str:
    """A client's reason, short and without what the environment says is secret."""
    text = " ".join(str(reason).split()) or type(reason).__name__
    for name, value in os.environ.items():
        if len(value) >= 4 and any(
            word in name.upper() for word in ("KEY", "TOKEN", "PASS", "SECRET", "AUTH")
        ):
            text = text.replace(value, "***")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
