"""Errors as clients see them: what is wrong and what to do, never a path or a trace."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from unembed.errors import UnembedError
from unembed.validation import complaint

LONGEST_ECHO = 100  # characters
_PATH = re.compile(r"(?<![\w/:])(?:[A-Za-z]:)?[/\\][^\s'\",;)]*[\w/]")  # absolute; not owner/model, not a URL


class Problem(Exception):
    """An answer other than 200."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        return {"error": self.message, "code": self.code, "hint": self.hint, "retry_after": self.retry_after}

    def response(self) -> JSONResponse:
        """The answer."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.body(), status_code=self.status, headers=headers)


class ErrorBody(BaseModel):
    """Every error of this API."""

    error: str = Field(description="What is wrong, for people.")
    code: str = Field(description="What is wrong, for programs.")
    hint: str | None = Field(None, description="What to do next.")
    retry_after: int | None = Field(None, description="Seconds until it is worth another try.")


def without_paths(text: str) -> str:
    """A message for clients: the server's folders are not their business."""
    return _PATH.sub("(a path on the server)", text)


def as_problem(error: Exception) -> Problem:
    """Any exception as an answer for a client."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnembedError):
        hint = None if error.hint is None else without_paths(error.hint)
        return Problem(422, "unfit", without_paths(error.message), hint=hint)
    return Problem(500, "internal", "Something went wrong on the server; its log says what.")


def _invalid(first: dict[str, Any]) -> str:
    """What pydantic finds wrong with a request, in one line; a long value is not sent back."""
    field = ".".join(str(part) for part in first["loc"] if part != "body")
    if first["type"] == "json_invalid":
        return "The request is not valid JSON."
    if first["type"] == "extra_forbidden":
        return f"There is no field '{field}'."
    message = first["msg"].removeprefix("Value error, ")
    if not field:
        return f"{message}."
    short = isinstance(first["input"], str | int | float) and len(str(first["input"])) <= LONGEST_ECHO
    return complaint(first, field) if short else f"{field}: {message}."


def install_handlers(app: FastAPI) -> None:
    """Give every error the same shape."""

    async def on_problem(request: Request, error: Exception) -> JSONResponse:
        return as_problem(error).response()

    async def on_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        codes = {400: "unreadable", 404: "not_found", 405: "method_not_allowed"}
        problem = Problem(error.status_code, codes.get(error.status_code, "http"), f"{error.detail}.")
        response = problem.response()
        response.headers.update(error.headers or {})
        return response

    async def on_invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return Problem(422, "invalid", _invalid(error.errors()[0])).response()

    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(UnembedError, on_problem)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
