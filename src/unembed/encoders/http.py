"""POST JSON, and try again when that can help: with growing pauses, and as long as the server asks for."""

from __future__ import annotations

import email.utils
import json
import random
import time
from datetime import datetime, timezone
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from unembed.errors import UnavailableError, UnembedError, UsageError
from unembed.extras import require

_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_PAUSE = 60.0
_LONGEST_ASKED_PAUSE = 300.0
_SHOWN = 300


class RetryingClient:
    """A small JSON client. The key is sent in the header and kept out of every message."""

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        attempts: int = 7,
        first_pause: float = 0.5,
    ) -> None:
        self._httpx: Any = require("httpx", extra="api", purpose="An endpoint as an encoder")
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "OPENAI_BASE_URL is not an http(s) address.",
                hint="Set it to an address like https://host/v1.",
            )
        host = parts.netloc.rpartition("@")[2]  # a password in the address is as secret as the key
        self.address = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._key = key
        self._attempts = attempts
        self._first_pause = first_pause
        self._timeout = timeout
        self._random = random.Random()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._client: Any = self._httpx.Client(
                base_url=base_url.rstrip("/") + "/", headers=headers, timeout=timeout
            )
        except (UnicodeEncodeError, ValueError) as error:
            # The original message may quote the header: it is not shown, not even as the cause.
            del error
            raise UsageError(
                "OPENAI_API_KEY holds characters that a header cannot carry.",
                hint="Set OPENAI_API_KEY to the key alone, without quotes or line breaks.",
            ) from None

    def __repr__(self) -> str:
        return f"RetryingClient({self.address!r})"

    def __enter__(self) -> RetryingClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def post(self, path: str, body: dict[str, Any], *, tolerate: tuple[int, ...] = ()) -> Any:
        """The JSON answer; None for a status in `tolerate`; an error that says what to do for the rest."""
        problem = ""
        for attempt in range(1, self._attempts + 1):
            try:
                response = self._client.post(path, json=body)
            except self._httpx.TimeoutException:
                problem, asked = f"no answer within {self._timeout:g} s", None
            except self._httpx.TransportError as error:
                problem, asked = self._hide_key(str(error) or type(error).__name__), None
            except UnicodeError:
                raise UsageError(
                    "OPENAI_API_KEY holds characters that a header cannot carry.",
                    hint="Set OPENAI_API_KEY to the key alone, without quotes or line breaks.",
                ) from None
            else:
                if response.is_success:
                    return self._parse(response)
                if response.status_code in tolerate:
                    return None
                if response.status_code not in _RETRIED or self._quota_is_used_up(response):
                    raise self._refusal(response)
                problem = f"status {response.status_code}: {self._reason(response)}"
                asked = _retry_after(response.headers.get("retry-after"))
            if attempt < self._attempts:
                time.sleep(self._pause(attempt, asked))
        raise UnavailableError(
            f"{self.address} failed {self._attempts} times; the last time: {problem}.",
            hint="Check that the server runs and OPENAI_BASE_URL is right, or try again later.",
        )

    def _pause(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait: what the server asks for, else doubling; jitter keeps clients apart."""
        grown: float = min(_LONGEST_PAUSE, self._first_pause * 2.0 ** (attempt - 1))
        jittered = grown * self._random.uniform(0.5, 1.0)
        return jittered if asked is None else min(_LONGEST_ASKED_PAUSE, asked) + jittered / 10

    def _parse(self, response: Any) -> Any:
        try:
            return response.json()
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UnavailableError(
                f"{self.address} answered with something that is not JSON.",
                hint="Check OPENAI_BASE_URL: it usually ends in /v1.",
            ) from error

    def _refusal(self, response: Any) -> UnembedError:
        status, reason = response.status_code, self._reason(response)
        if status in (401, 403):
            hint = "Check OPENAI_API_KEY." if self._key else "Set OPENAI_API_KEY."
            return UnavailableError(f"{self.address} refused the key (status {status}): {reason}", hint=hint)
        if status == 404:
            return UsageError(
                f"{self.address} has no such address or model (status 404): {reason}",
                hint="Check OPENAI_BASE_URL (it usually ends in /v1) and the model's name.",
            )
        if status == 429:
            return UnavailableError(
                f"{self.address}: the account's quota is used up: {reason}",
                hint="Raise the quota with the provider, then run the command again.",
            )
        return UsageError(f"{self.address} refused the request (status {status}): {reason}")

    def _quota_is_used_up(self, response: Any) -> bool:
        return response.status_code == 429 and "insufficient_quota" in response.text

    def _reason(self, response: Any) -> str:
        """The server's reason, in one short line without the key."""
        try:
            error = response.json()["error"]
            text = error["message"] if isinstance(error, dict) else str(error)
        except (ValueError, KeyError, TypeError):
            text = response.text or response.reason_phrase
        return self._hide_key(" ".join(str(text).split())[:_SHOWN] or "no reason given")

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _retry_after(value: str | None) -> float | None:
    """A Retry-After header, in seconds: a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
