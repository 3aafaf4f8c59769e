"""What a request can say is what an inversion can be told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import tiny
from unembed import Inverter
from unembed.invert_config import InversionOptions, InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.server.app import create_app
from unembed.server.monitoring import Log
from unembed.server.schemas import InvertRequest

TEXT = "The cat sees the dog today."
HERE = "http://localhost"


@pytest.mark.parametrize("name", InversionOptions.model_fields)
def test_whatever_decides_a_text_decides_the_batch(name: str) -> None:
    """Two requests that differ in any field of an inversion never share a batch."""
    other = {
        "strategy": "euler", "options": {"by": "margin"}, "encoder": "surrogate", "steps": 3, "n_best": 2,
        "num_lengths": 2, "guidance": 1.5, "seed": 4, "kv_cache": True, "shortlist": 9, "quality": "fast",
        "hypotheses": 2, "ranking": "score", "precision": "int8", "vector_noise": 0.01,
        "refine": 1,
    }[name]  # fmt: skip
    plain = InvertRequest(texts=["a"])
    assert plain.key == InvertRequest(texts=["b"]).key
    assert plain.key != InvertRequest(texts=["a"], **{name: other}).key


def test_names_from_before_are_still_read(client: TestClient) -> None:
    asked = {"texts": [TEXT], "strategy": "euler"}
    old = client.post("/api/invert", json={**asked, "candidates": 1, "reuse": True}).json()["results"]
    new = client.post("/api/invert", json={**asked, "num_lengths": 1, "kv_cache": True}).json()["results"]
    assert old == new != client.post("/api/invert", json=asked).json()["results"]


@pytest.mark.parametrize("name", InversionOptions.model_fields)
def test_whatever_an_inversion_can_be_told_a_request_can_say(client: TestClient, name: str) -> None:
    """A new field of `InversionOptions` is in the API and in the batch's key without an edit here."""
    document = client.get("/api/openapi.json").json()
    described = document["components"]["schemas"]["InvertRequest"]["properties"][name]
    assert described["description"]
    field, own = InversionOptions.model_fields[name], InvertRequest.model_fields[name]
    assert own.get_default(call_default_factory=True) == field.get_default(call_default_factory=True)
    assert name in json.loads(InvertRequest(texts=["a"]).key)


def test_a_new_option_reaches_the_inversion(inverter: Inverter, vectors: np.ndarray) -> None:
    """Every field of a request arrives in the `InvertConfig` that the inverter is given."""
    heard: list[InvertConfig] = []

    class Listening(Inverter):
        def invert(self, vectors: object, config: InvertConfig, **more: object) -> object:
            heard.append(config)
            return super().invert(vectors, config, **more)

    listening = Listening(inverter.checkpoint, encoder=inverter.encoder)
    asked = {
        "strategy": "confidence", "options": {"by": "margin"}, "steps": 3, "n_best": 2, "num_lengths": 2,
        "guidance": 0.5, "seed": 4, "kv_cache": True, "shortlist": 9, "quality": "fast", "hypotheses": 2,
        "ranking": "score", "precision": "fp32", "vector_noise": 0.01, "refine": 1,
    }  # fmt: skip
    assert {*asked, "encoder"} == set(InversionOptions.model_fields)  # the encoder is for searches
    with TestClient(create_app({"toy": listening}, log=Log(file=io.StringIO())), base_url=HERE) as client:
        assert client.post("/api/invert", json={"texts": [TEXT], **asked}).status_code == 200
    assert {name: getattr(heard[-1], name) for name in asked} == asked


def test_the_surrogate_can_guide_where_the_encoder_is_missing(inverter: Inverter, tmp_path: Path) -> None:
    inverter.checkpoint.save_pretrained(tmp_path / "model")
    Checkpoint.from_pretrained(tmp_path / "model").add_surrogate(tiny.surrogate(inverter.checkpoint))
    without = Inverter.from_pretrained(tmp_path / "model")
    asked = {"vectors": inverter.encode([TEXT]).tolist(), "strategy": "guided"}
    with TestClient(create_app({"toy": without}, log=Log(file=io.StringIO())), base_url=HERE) as client:
        models = client.get("/api/models").json()
        assert (models["models"][0]["can_encode"], models["models"][0]["has_surrogate"]) == (False, True)
        assert "guided" in [strategy["name"] for strategy in models["strategies"]]
        assert client.post("/api/invert", json=asked).json()["code"] == "encoder"
        asked = {**asked, "encoder": "surrogate", "options": {"max_encoder_calls": 20}}
        answer = client.post("/api/invert", json=asked)
        assert answer.status_code == 200, answer.text
        assert answer.json()["results"][0]["text"]


def test_a_client_cannot_make_the_server_load_an_encoder(client: TestClient) -> None:
    asked = {"texts": [TEXT], "strategy": "guided", "encoder": "/etc"}
    assert client.post("/api/invert", json=asked).status_code == 422
