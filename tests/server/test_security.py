"""Who may ask, from where, and how much."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

Serve = Callable[..., TestClient]
BODY = {"texts": ["The cat sees the dog."]}
TOKEN = "a-long-enough-token"


def test_every_answer_carries_the_headers(client: TestClient) -> None:
    for path in ("/", "/health", "/static/js/app.js", "/nowhere", "/api/models"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/").text
    assert "https://" not in page
    assert 'src="http' not in page
    assert 'style="' not in page
    assert "onclick=" not in page


def test_a_token_where_there_is_one(serve: Serve) -> None:
    client = serve(token=TOKEN, local=False)
    for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
        for path in ("/api/models", "/metrics"):
            response = client.get(path, headers=given)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.post("/api/encode", json=BODY, headers=given).status_code == 401
    allowed = {"authorization": f"Bearer {TOKEN}"}
    assert client.post("/api/encode", json=BODY, headers=allowed).status_code == 200
    assert client.get("/", headers={}).status_code == 200
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
def test_other_names_do_not_reach_a_local_server(client: TestClient, host: str) -> None:
    assert client.get("/api/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8080"])
def test_this_machines_names_do(client: TestClient, host: str) -> None:
    assert client.get("/api/models", headers={"host": host}).status_code == 200


def test_pages_of_other_sites_are_refused_unless_allowed(serve: Serve) -> None:
    origin = {"origin": "https://other.example"}
    assert serve().post("/api/encode", json=BODY, headers=origin).status_code == 403
    own = {"origin": "http://127.0.0.1:8080"}
    assert serve().post("/api/encode", json=BODY, headers=own).status_code == 200
    friendly = serve(allow_origin=("https://other.example",))
    response = friendly.post("/api/encode", json=BODY, headers=origin)
    assert response.headers["access-control-allow-origin"] == "https://other.example"


def test_large_bodies_are_refused_before_they_are_read(serve: Serve) -> None:
    client = serve(max_body=2000)
    assert client.post("/api/encode", content=b"x" * 2001).status_code == 413
    chunks = (b"x" * 500 for _ in range(10))
    assert client.post("/api/encode", content=chunks).status_code == 413


def test_static_files_stay_in_their_folder(client: TestClient) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert client.get(path).status_code == 404
