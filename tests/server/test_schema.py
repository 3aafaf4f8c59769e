"""schemathesis against the OpenAPI document: whatever is sent, nothing breaks."""

from __future__ import annotations

import io

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from unembed import Inverter
from unembed.search.settings import GuidedSettings
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.monitoring import Log

_NUMBERS = st.integers(-1, 20) | st.floats(-1, 20)
GUIDED_OPTIONS = st.dictionaries(
    st.sampled_from(list(GuidedSettings.model_fields)), _NUMBERS, max_size=6
).map(lambda options: {**options, "max_encoder_calls": 30})
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
PATHS = ["/health", "/metrics", "/api/models", "/api/encode", "/api/invert", "/api/invert/stream"]


@pytest.fixture(scope="module")
def schema(inverter: Inverter) -> schemathesis.BaseSchema:
    app = create_app({"toy": inverter}, ServeConfig(local=False), log=Log(file=io.StringIO()))
    return schemathesis.openapi.from_asgi("/api/openapi.json", app)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_breaks_the_server(
    schema: schemathesis.BaseSchema, path: str, mode: GenerationMode
) -> None:
    method = "GET" if path in PATHS[:3] else "POST"
    if mode is GenerationMode.NEGATIVE and method == "GET":
        return  # without parameters there is nothing to get wrong

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    check()


@pytest.mark.slow
def test_no_guided_request_breaks_the_server(schema: schemathesis.BaseSchema) -> None:
    """Few requests that are made up at random ask for a search: here all of them do."""

    @given(case=schema["/api/invert"]["POST"].as_strategy(), options=GUIDED_OPTIONS)
    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case, options: dict) -> None:
        given = {"vectors": [[0.1] * 16], "texts": None, "originals": None, "lengths": None, "model": None}
        case.body = {**case.body, **given, "strategy": "guided", "options": options}
        case.validate_response(case.call(), checks=CHECKS)

    check()


def test_every_endpoint_is_described(schema: schemathesis.BaseSchema) -> None:
    assert sorted(schema) == sorted(PATHS)
