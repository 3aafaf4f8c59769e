"""schemathesis against the OpenAPI document: whatever is sent, nothing breaks."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from unembed import Inverter
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.logs import Log

_LOADED: dict[str, object] = {}


@pytest.fixture
def api_schema(inverter: Inverter) -> Iterator[object]:
    if "schema" not in _LOADED:
        app = create_app({"toy": inverter}, ServeConfig(local=False), log=Log(file=io.StringIO()))
        _LOADED["schema"] = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    return _LOADED["schema"]


schema = schemathesis.pytest.from_fixture("api_schema")


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_server(case: schemathesis.Case) -> None:
    checks = [not_a_server_error, status_code_conformance, response_schema_conformance]
    case.call_and_validate(checks=checks)
