"""The endpoint encoder, against a real HTTP server that also fails in every way they do."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from types import SimpleNamespace

import numpy as np
import pytest
from embedding_server import KEY, Endpoint

from unembed.encoders import http, load_encoder, openai_api
from unembed.encoders.http import RetryingClient
from unembed.encoders.openai_api import MAX_TEXTS, OpenAIEncoder
from unembed.errors import DataError, MissingExtraError, UnavailableError, UnembedError, UsageError


def encoder_for(endpoint: Endpoint, **settings: float) -> OpenAIEncoder:
    """The encoder with short pauses, so that a test of five retries takes a moment."""
    client = RetryingClient(endpoint.url, KEY, **{"first_pause": 0.01, "timeout": 5.0, **settings})
    return OpenAIEncoder("openai:toy", client)


def test_vectors_arrive_exactly(endpoint: Endpoint) -> None:
    encoder = load_encoder("openai:toy")
    assert encoder.info.dimension == 24
    assert encoder.info.normalised
    assert encoder.info.source == endpoint.url
    texts = ["one", "two", "日本語"]
    np.testing.assert_array_equal(encoder.encode(texts), np.stack([endpoint.vector(t) for t in texts]))
    assert endpoint.requests[-1] == {"model": "toy", "input": texts, "encoding_format": "base64"}


def test_a_server_without_base64_is_asked_for_numbers(endpoint: Endpoint) -> None:
    endpoint.knows_base64 = False
    encoder = load_encoder("openai:toy")
    asked = len(endpoint.requests)
    np.testing.assert_allclose(encoder.encode(["one"])[0], endpoint.vector("one"), atol=1e-7)
    assert [request.get("encoding_format") for request in endpoint.requests[asked:]] == [None]


def test_many_texts_go_in_batches_and_keep_their_order(endpoint: Endpoint) -> None:
    endpoint.reversed_order = True
    encoder = load_encoder("openai:toy")
    asked = len(endpoint.requests)
    texts = [f"text {n}" for n in range(2 * MAX_TEXTS + 10)]
    vectors = encoder.encode(texts, batch_tokens=10**9)
    np.testing.assert_array_equal(vectors, np.stack([endpoint.vector(t) for t in texts]))
    assert sorted(len(request["input"]) for request in endpoint.requests[asked:]) == [
        10,
        MAX_TEXTS,
        MAX_TEXTS,
    ]
    asked = len(endpoint.requests)
    encoder.encode([f"{number}" * 400 for number in range(5)], batch_tokens=210)
    assert sorted(len(request["input"]) for request in endpoint.requests[asked:]) == [1, 2, 2]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_passing_trouble_is_waited_out(endpoint: Endpoint, status: int) -> None:
    endpoint.troubles.extend([(status, {}, {"error": {"message": "later"}})] * 3)
    assert encoder_for(endpoint).info.dimension == 24
    assert len(endpoint.requests) == 4


def test_a_timeout_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.troubles.append(4.0)
    assert encoder_for(endpoint, timeout=2.0).info.dimension == 24
    assert len(endpoint.requests) == 2


def test_pauses_grow_with_jitter_up_to_a_limit(endpoint: Endpoint) -> None:
    client = RetryingClient(endpoint.url, KEY)
    for attempt, longest in [(1, 0.5), (2, 1.0), (3, 2.0), (20, 60.0)]:
        pauses = {client._pause(attempt, None) for _ in range(50)}
        assert longest / 2 <= min(pauses) < max(pauses) <= longest
    assert 7 <= client._pause(1, 7.0) <= 7.05
    assert client._pause(1, 1e9) < 301


def test_retry_after_is_honoured(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(http, "time", SimpleNamespace(sleep=pauses.append))
    endpoint.troubles.append((429, {"Retry-After": "30"}, {"error": {"message": "slow down"}}))
    encoder_for(endpoint)
    [pause] = pauses
    assert 30 <= pause <= 31


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    soon = datetime.now(timezone.utc) + timedelta(seconds=30)
    asked = http._retry_after(format_datetime(soon))
    assert asked is not None
    assert 25 < asked <= 30
    assert http._retry_after("tomorrow") is None
    assert http._retry_after(None) is None


def test_it_gives_up_in_the_end(endpoint: Endpoint) -> None:
    endpoint.troubles.extend([(503, {}, "overloaded")] * 10)
    with pytest.raises(UnavailableError, match=r"3 times.*overloaded"):
        encoder_for(endpoint, attempts=3)
    assert len(endpoint.requests) == 3


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    client = RetryingClient("http://127.0.0.1:9/v1", KEY, attempts=2, first_pause=0.01)
    with pytest.raises(UnavailableError, match="failed 2 times"):
        OpenAIEncoder("openai:toy", client)


def test_a_used_up_quota_is_not_waited_for(endpoint: Endpoint) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    endpoint.troubles.append((429, {}, body))
    with pytest.raises(UnavailableError, match="quota"):
        encoder_for(endpoint)
    assert len(endpoint.requests) == 1


def test_a_wrong_key_is_refused_once_and_never_shown(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "sk-wrong-but-secret"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with pytest.raises(UnavailableError, match="401") as caught:
        load_encoder("openai:toy")
    assert len(endpoint.requests) == 1
    assert "OPENAI_API_KEY" in str(caught.value.hint)
    assert secret not in str(caught.value) + repr(caught.value) + caplog.text


def test_the_key_is_in_no_description(endpoint: Endpoint) -> None:
    client = RetryingClient(endpoint.url.replace("http://", "http://user:secret@"), KEY)
    assert client.address == endpoint.url
    assert KEY not in repr(client)
    assert KEY not in encoder_for(endpoint).info.model_dump_json()


def test_a_key_that_no_header_carries(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel\n")
    with pytest.raises(UsageError) as caught:
        load_encoder("openai:toy")
    assert "schlüssel" not in str(caught.value)


def test_an_unknown_model(endpoint: Endpoint) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_encoder("openai:other")


def test_a_wrong_address(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url.removesuffix("/v1"))
    with pytest.raises(UsageError) as caught:
        load_encoder("openai:toy")
    assert "/v1" in str(caught.value.hint)
    monkeypatch.setenv("OPENAI_BASE_URL", "not an address")
    with pytest.raises(UsageError, match="not an http"):
        load_encoder("openai:toy")


def test_another_refusal_carries_the_servers_words(endpoint: Endpoint) -> None:
    encoder = encoder_for(endpoint)
    endpoint.troubles.extend([(413, {}, {"error": {"message": "too  large\nfor me"}})])
    with pytest.raises(UsageError, match="too large for me"):
        encoder.encode(["x"])


def _drop(data: list[dict]) -> None:
    data.pop()


def _nan(data: list[dict]) -> None:
    data[0]["embedding"] = [float("nan")] * 24


def _short(data: list[dict]) -> None:
    data[0]["embedding"] = [0.5] * 23


def _twice(data: list[dict]) -> None:
    data[1]["index"] = 0


def _words(data: list[dict]) -> None:
    data[0]["embedding"] = "not base64!"


def _nothing(data: list[dict]) -> None:
    data[0].pop("embedding")


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (_drop, "1 vectors for 2 texts"),
        (_nan, "NaN"),
        (_short, "different dimensions"),
        (_twice, "numbered"),
        (_words, "did not answer"),
        (_nothing, "did not answer"),
    ],
)
def test_a_wrong_answer_is_named(endpoint: Endpoint, spoil: object, word: str) -> None:
    encoder = encoder_for(endpoint)
    endpoint.spoil = spoil
    with pytest.raises(DataError, match=word):
        encoder.encode(["one", "two"])


def test_an_answer_that_is_no_json(endpoint: Endpoint) -> None:
    endpoint.troubles.append((200, {}, "<html>welcome</html>"))
    with pytest.raises(UnavailableError, match="not JSON"):
        encoder_for(endpoint)


def test_a_changed_dimension_is_found(endpoint: Endpoint) -> None:
    encoder = encoder_for(endpoint)
    endpoint.dimension = 12
    with pytest.raises(DataError, match="from 24 to 12"):
        encoder.encode(["one"])


def test_the_first_error_ends_the_work(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_for(endpoint)
    pauses: list[float] = []
    monkeypatch.setattr(http, "time", SimpleNamespace(sleep=pauses.append))
    endpoint.troubles.append((400, {}, {"error": {"message": "bad"}}))
    endpoint.troubles.append((400, {}, {"error": {"message": "bad"}}))
    endpoint.troubles.extend([(404, {}, {"error": {"message": "gone"}})] * 100)
    with pytest.raises(UnembedError):
        encoder.encode([f"{number:0100}" for number in range(40)], batch_tokens=26)
    assert len(endpoint.requests) < 40
    assert not pauses  # an answer that will not change is not waited for


def test_without_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError) as caught:
        load_encoder("openai:text-embedding-3-small")
    assert "OPENAI_BASE_URL" in str(caught.value.hint)


def test_a_local_server_needs_no_key(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint.key = None
    monkeypatch.delenv("OPENAI_API_KEY")
    assert load_encoder("openai:toy").info.dimension == 24


def test_a_missing_extra_is_named(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError) as caught:
        load_encoder("openai:toy")
    assert "unembed[api]" in str(caught.value.hint)


def sent(endpoint: Endpoint) -> list[str]:
    """Every text that the endpoint was sent, and so would charge for."""
    return [text for request in endpoint.requests for text in request["input"]]


def test_no_text_is_paid_for_twice(endpoint: Endpoint) -> None:
    encoder = encoder_for(endpoint)
    endpoint.requests.clear()
    vectors = encoder.encode(["one", "two", "one", "", " ", "two"])
    np.testing.assert_allclose(
        vectors, [endpoint.vector(text) for text in ("one", "two", "one", " ", " ", "two")]
    )
    assert sorted(sent(endpoint)) == [" ", "one", "two"]
    again = encoder.encode(["two", "three"])
    np.testing.assert_array_equal(again[0], vectors[1])
    assert sorted(sent(endpoint)) == [" ", "one", "three", "two"]


def test_what_was_paid_for_before_a_failure_is_not_paid_for_again(endpoint: Endpoint) -> None:
    encoder = encoder_for(endpoint)
    encoder.encode(["one"])
    endpoint.troubles.extend([(413, {}, {"error": {"message": "too large"}})])
    with pytest.raises(UsageError):
        encoder.encode(["one", "x"])
    encoder.encode(["one", "x"])
    assert sent(endpoint).count("one") == 1


def test_what_it_remembers_is_bounded(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_api, "REMEMBERED", 2)
    encoder = encoder_for(endpoint)
    texts = ["one", "two", "three", "four"]
    expected = [endpoint.vector(text) for text in texts]
    np.testing.assert_allclose(encoder.encode(texts), expected)
    np.testing.assert_allclose(encoder.encode(texts), expected)
    counts = [sent(endpoint).count(text) for text in texts]
    assert counts == [2, 2, 1, 1]
