"""Every endpoint, and every way it says no."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import numpy as np
import pytest
from fastapi.testclient import TestClient

import tiny
import toy
from unembed import Inverter
from unembed.decode import DECODERS
from unembed.server.app import create_app
from unembed.server.monitoring import Log
from unembed.strategies import STRATEGIES

TEXT = "The cat sees the dog today."
HERE = "http://localhost"


def events(response: object) -> list[tuple[str, dict]]:
    out = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            out.append((lines["event"], json.loads(lines["data"])))
    return out


def test_models(client: TestClient) -> None:
    body = client.get("/api/models").json()
    assert body["default"] == "toy"
    assert body["models"][0]["dimension"] == 16
    assert body["models"][0]["can_encode"]
    assert [strategy["name"] for strategy in body["strategies"]] == list(STRATEGIES)
    assert [one["name"] for one in body["strategies"] if one["needs_encoder"]] == ["guided"]
    assert body["limits"]["max_encoder_calls"] == 2000
    assert all(strategy["summary"] for strategy in body["strategies"])
    assert body["limits"]["max_text"] == 2000


def test_health_and_metrics(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"
    client.post("/api/encode", json={"texts": [TEXT]})
    text = client.get("/metrics").text
    assert 'unembed_requests_total{path="/api/encode",status="200"} 1.0' in text
    assert 'unembed_vectors_total{kind="encode"} 1.0' in text
    assert "unembed_queue_vectors 0.0" in text


def test_encode(client: TestClient, inverter: Inverter) -> None:
    body = client.post("/api/encode", json={"texts": [TEXT, "A dog."]}).json()
    assert np.allclose(body["vectors"], inverter.encode([TEXT, "A dog."]))
    assert body["dimension"] == 16
    assert len(body["tokens"]) == 2


@pytest.mark.parametrize("strategy", list(DECODERS))
def test_invert_is_the_same_as_alone(
    client: TestClient, inverter: Inverter, vectors: np.ndarray, strategy: str
) -> None:
    asked = {"strategy": strategy, "steps": 8, "n_best": 3, "seed": 5}
    body = client.post("/api/invert", json={"vectors": vectors[:3].tolist(), **asked}).json()
    for vector, result in zip(vectors, body["results"], strict=False):
        alone = inverter.invert(vector, **asked)
        assert result["text"] == alone.text
        assert result["tokens"] == list(alone.tokens)
        assert [other["text"] for other in result["alternatives"]] == [o.text for o in alone.alternatives]
        assert result["forward_passes"] == alone.forward_passes
        assert len(result["pieces"]) == len(alone.tokens)
        assert all(0 <= piece["confidence"] <= 1 for piece in result["pieces"])
    assert body["work"]["batch"] == 3


GUIDED = {"strategy": "guided", "options": {"max_encoder_calls": 60}, "seed": 5}


def test_a_guided_search_is_the_same_as_alone(
    client: TestClient, inverter: Inverter, vectors: np.ndarray
) -> None:
    body = client.post("/api/invert", json={"vectors": vectors[:2].tolist(), "n_best": 2, **GUIDED}).json()
    for vector, result in zip(vectors, body["results"], strict=False):
        alone = inverter.invert(vector, strategy="guided", max_encoder_calls=60, seed=5, n_best=2)
        assert result["text"] == alone.text
        assert result["encoder_calls"] == alone.encoder_calls
        assert result["cosine"] == pytest.approx(alone.cosine, abs=1e-4)
        assert [other["text"] for other in result["alternatives"]] == [o.text for o in alone.alternatives]
        assert len(result["pieces"]) == len(alone.tokens)
    calls = sum(result["encoder_calls"] for result in body["results"])
    assert f"unembed_encoder_calls_total {calls}.0" in client.get("/metrics").text


def test_the_stream_tells_every_round(client: TestClient, vectors: np.ndarray) -> None:
    heard = events(client.post("/api/invert/stream", json={"vectors": vectors[:2].tolist(), **GUIDED}))
    [answer] = [data for name, data in heard if name == "result"]
    for index, result in enumerate(answer["results"]):
        rounds = [data for name, data in heard if name == "search" and data["index"] == index]
        assert [data["round"] for data in rounds] == list(range(len(rounds)))
        for name in ("cosine", "encoder_calls"):
            assert [data[name] for data in rounds] == sorted(data[name] for data in rounds)
        assert rounds[-1]["encoder_calls"] == result["encoder_calls"] <= rounds[-1]["max_encoder_calls"] == 60
        assert rounds[-1]["cosine"] == pytest.approx(result["cosine"], abs=1e-3)
        assert all(piece["confidence"] is None for piece in rounds[-1]["pieces"])


def test_encoder_calls_are_shared_by_a_request(serve: Callable[..., TestClient], vectors: np.ndarray) -> None:
    client = serve(max_encoder_calls=100)
    asked = {"vectors": vectors[:4].tolist(), "strategy": "guided"}
    body = client.post("/api/invert", json=asked).json()
    assert all(result["encoder_calls"] <= 25 for result in body["results"])
    refused = client.post("/api/invert", json={**asked, "options": {"max_encoder_calls": 26}})
    assert refused.status_code == 422
    assert refused.json()["code"] == "too_many_calls"
    assert client.post("/api/invert", json={**asked, "options": {"max_encoder_calls": 0}}).status_code == 200


def test_a_search_ends_in_time(serve: Callable[..., TestClient], vectors: np.ndarray) -> None:
    client = serve(max_encoder_calls=10_000_000, search_seconds=0.2)
    asked = {"vectors": vectors[:1].tolist(), "strategy": "guided", "options": {"seconds": 1000}}
    [result] = client.post("/api/invert", json=asked).json()["results"]
    assert 0 < result["encoder_calls"] < 1_000_000


def test_a_round_trip_is_compared(client: TestClient) -> None:
    [result] = client.post("/api/invert", json={"texts": [TEXT], "cosine": True}).json()["results"]
    assert 0 <= result["comparison"]["token_accuracy"] <= 1
    assert -1 <= result["cosine"] <= 1


def test_a_vector_with_its_original_is_compared(client: TestClient, inverter: Inverter) -> None:
    vector = inverter.encode([TEXT])[0].tolist()
    asked = {"vectors": [vector], "cosine": True}
    [blind] = client.post("/api/invert", json=asked).json()["results"]
    [told] = client.post("/api/invert", json={**asked, "originals": [TEXT]}).json()["results"]
    assert blind["comparison"] is None
    assert told["comparison"] is not None
    assert blind["text"] == told["text"]
    assert blind["cosine"] == pytest.approx(told["cosine"], abs=1e-3)


def test_the_stream_tells_position_steps_and_result(client: TestClient, vectors: np.ndarray) -> None:
    asked = {"vectors": vectors[:1].tolist(), "num_lengths": 3}
    response = client.post("/api/invert/stream", json=asked)
    assert response.headers["content-type"].startswith("text/event-stream")
    heard = events(response)
    assert heard[0] == ("queued", {"position": 0})
    assert heard[1] == ("started", {"batch": 1})
    name, answer = heard[-1]
    assert name == "result"
    [result] = answer["results"]
    assert result == client.post("/api/invert", json=asked).json()["results"][0]
    story = [data for name, data in heard if name == "step" and data["length"] == len(result["tokens"])]
    assert all(piece["text"] is None for piece in story[0]["pieces"])
    assert story[-1]["pieces"] == result["pieces"]
    assert [data["step"] for data in story] == list(range(len(story)))


def test_known_lengths(client: TestClient, vectors: np.ndarray) -> None:
    body = client.post("/api/invert", json={"vectors": vectors[:2].tolist(), "lengths": [4, 6]}).json()
    assert [len(result["tokens"]) for result in body["results"]] == [4, 6]
    assert all(result["length_known"] for result in body["results"])


def test_a_warning_about_foreign_vectors(client: TestClient, vectors: np.ndarray) -> None:
    body = client.post("/api/invert", json={"vectors": (100 * vectors[:1]).tolist()}).json()
    assert "do not look like" in body["warning"]


BAD = [
    ({}, 422, "give either vectors or texts"),
    ({"texts": ["a"], "vectors": [[1.0] * 16]}, 422, "give either"),
    ({"vectors": [[1.0] * 15]}, 422, "15 dimensions"),
    ({"vectors": [[1e300] * 16]}, 422, "NaN or infinity"),
    ({"vectors": [["x"] * 16]}, 422, "number"),
    ({"vectors": []}, 422, "vectors"),
    ({"vectors": [[1.0] * 16] * 65}, 422, "64 vectors"),
    ({"texts": ["a" * 2001]}, 422, "2,000 characters"),
    ({"texts": ["  "]}, 422, "empty"),
    ({"texts": ["a"], "strategy": "magic"}, 422, "no decoding strategy"),
    ({"texts": ["a"], "options": {"width": 2}}, 422, "no option"),
    ({"texts": ["a"], "strategy": "beam", "options": {"width": 1000000}}, 422, "width must be at most 256"),
    ({"texts": ["a"], "strategy": "guided", "options": {"beam": 25}}, 422, "options.beam_width: at most 24"),
    ({"texts": ["a"], "strategy": "guided", "options": {"beam": 0}}, 422, "at least 1"),
    (
        {"texts": ["a"], "strategy": "guided", "options": {"max_encoder_calls": 2001}},
        422,
        "2,000 encoder calls",
    ),
    ({"texts": ["a"], "lengths": [99]}, 422, "1 to 10 tokens"),
    ({"texts": ["a"], "lengths": [1, 2]}, 422, "2 lengths for 1"),
    ({"texts": ["a"], "steps": 0}, 422, "steps"),
    ({"texts": ["a"], "model": "other"}, 404, "no such model"),
    ({"texts": ["a"], "unknown": 1}, 422, "There is no field 'unknown'."),
    ({"texts": ["a"], "batch": 1}, 422, "There is no field 'batch'."),
    ({"texts": ["a"], "candidates": 2, "num_lengths": 2}, 422, "num_lengths is given twice"),
    ({"texts": ["a"], "steps": 257}, 422, "steps must be at most 256, got 257."),
    ({"texts": ["a"], "n_best": 0}, 422, "n_best must be at least 1, got 0."),
    ({"texts": ["a"], "seed": "x"}, 422, "seed must be a whole number, got 'x'."),
]


@pytest.mark.parametrize(("body", "status", "message"), BAD)
@pytest.mark.parametrize("path", ["/api/invert", "/api/invert/stream"])
def test_wrong_requests(client: TestClient, path: str, body: dict, status: int, message: str) -> None:
    response = client.post(path, json=body)
    assert response.status_code == status
    assert message in response.json()["error"]
    assert "/src/" not in response.text


@pytest.mark.parametrize("content", [b"{", b'{"vectors": [[NaN]]}', b"[" * 100_000, b"\xff\xfe", b""])
def test_unreadable_requests(client: TestClient, content: bytes) -> None:
    response = client.post("/api/invert", content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["error"]


def test_a_failure_shows_nothing_and_is_logged(
    client: TestClient, inverter: Inverter, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*values: object, **options: object) -> None:
        raise RuntimeError("/secret/path and the text")

    monkeypatch.setattr(Inverter, "invert", explode)
    response = client.post("/api/invert", json={"texts": [TEXT]})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert '"error": "RuntimeError"' in log.getvalue()
    assert "secret" not in log.getvalue()
    monkeypatch.undo()
    assert client.post("/api/invert", json={"texts": [TEXT]}).status_code == 200


def test_logs_hold_contents_only_where_asked(serve: Callable[..., TestClient], log: io.StringIO) -> None:
    serve().post("/api/invert", json={"texts": [TEXT]})
    line = json.loads(log.getvalue().splitlines()[-1])
    assert line["path"] == "/api/invert"
    assert line["status"] == 200
    assert line["vectors"] == 1
    assert "cat" not in log.getvalue()
    serve(log_content=True).post("/api/invert", json={"texts": [TEXT]})
    assert json.loads(log.getvalue().splitlines()[-1])["texts"] == [TEXT]


def test_a_model_that_ends_its_texts_by_itself(vectors: np.ndarray) -> None:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    fixed = Inverter(tiny.checkpoint(encoder.tokenizer(), encoder.info, length="fixed"))
    app = create_app({"fixed": fixed}, log=Log(file=io.StringIO()))
    with TestClient(app, base_url="http://localhost") as client:
        model = client.get("/api/models").json()["models"][0]
        assert model["knows_length"]
        assert not model["can_encode"]
        asked = {"vectors": vectors[:2].tolist(), "cosine": True}
        heard = events(client.post("/api/invert/stream", json=asked))
        for vector, result in zip(vectors, heard[-1][1]["results"], strict=False):
            alone = fixed.invert(vector)
            assert result["text"] == alone.text
            assert len(result["pieces"]) == len(alone.tokens)
            assert result["cosine"] is None
        assert client.post("/api/encode", json={"texts": [TEXT]}).json()["code"] == "encoder"
        offered = client.get("/api/models").json()["strategies"]
        assert "guided" not in [strategy["name"] for strategy in offered]
        assert client.post("/api/invert", json={**asked, "strategy": "guided"}).json()["code"] == "encoder"
        refused = client.post("/api/invert", json={**asked, "lengths": [3, 3]})
        assert "ends its texts by itself" in refused.json()["error"]


def test_a_missing_encoder_is_explained(client: TestClient, inverter: Inverter) -> None:
    """The model can still invert; whoever needs the encoder is told why it is missing."""
    assert client.get("/api/models").json()["models"][0]["encoder_problem"] is None
    without = Inverter(inverter.checkpoint)  # 'toy' is no name that load_encoder knows
    with TestClient(create_app({"toy": without}, log=Log(file=io.StringIO())), base_url=HERE) as lone:
        [model] = lone.get("/api/models").json()["models"]
        assert not model["can_encode"]
        assert "'toy'" in model["encoder_problem"]
        refused = lone.post("/api/invert", json={"texts": [TEXT]}).json()
        assert refused["code"] == "encoder"
        assert refused["hint"] == model["encoder_problem"]


def test_no_path_of_the_server_is_in_the_reason() -> None:
    encoder = toy.ToyEncoder(name="/home/somebody/encoder")
    model = Inverter(tiny.checkpoint(encoder.tokenizer(), encoder.info))
    with TestClient(create_app({"toy": model}, log=Log(file=io.StringIO())), base_url=HERE) as client:
        [described] = client.get("/api/models").json()["models"]
        assert described["encoder_problem"].startswith("There is no encoder folder")
        assert "somebody" not in described["encoder_problem"]


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_strategy_takes_its_own_options_at_their_defaults(client: TestClient, strategy: str) -> None:
    described = {one["name"]: one for one in client.get("/api/models").json()["strategies"]}
    options = {name: schema["default"] for name, schema in described[strategy]["options"].items()}
    if "max_encoder_calls" in options:
        options["max_encoder_calls"] = 5
    asked = {"texts": [TEXT], "strategy": strategy, "options": options, "steps": 2}
    response = client.post("/api/invert", json=asked)
    assert response.status_code == 200, response.text


def test_an_option_may_be_a_word(client: TestClient) -> None:
    asked = {"texts": [TEXT], "options": {"by": "margin"}}
    assert client.post("/api/invert", json=asked).status_code == 200
    refused = client.post("/api/invert", json={**asked, "options": {"by": "guess"}})
    assert refused.status_code == 422
    assert "'probability' or 'margin'" in refused.text
