"""An OpenAI-compatible `/v1/embeddings` endpoint as an encoder: `openai:MODEL`.

`OPENAI_BASE_URL` says where it is, `OPENAI_API_KEY` is sent to it and appears nowhere else. Endpoints charge
per text, so a text that was sent is remembered for a while and not sent again.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, check_vectors, clean_texts
from unembed.encoders.http import RetryingClient
from unembed.errors import DataError, UsageError
from unembed.storage import digest_json

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MAX_TEXTS = 256  # in one request; OpenAI allows 2,048, small servers much less
REQUESTS_AT_ONCE = 4
REMEMBERED = 8192  # vectors of the last texts that were sent: 50 MB at 1,536 dimensions
_PROBE = "The quick brown fox jumps over the lazy dog."


class OpenAIEncoder:
    """Vectors from an endpoint. Loading asks for one vector: that shows address, key, model and dimension."""

    def __init__(self, name: str, client: RetryingClient, *, licence: str = "the endpoint's") -> None:
        self._model = name.partition(":")[2]
        self._client = client
        self._format = "base64"
        self._remembered: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()  # requests run in threads
        probe = self._request([_PROBE])
        self.info = EncoderInfo(
            name=name,
            dimension=probe.shape[1],
            pooling="unknown",
            max_tokens=None,
            licence=licence,
            normalised=bool(abs(float(np.linalg.norm(probe[0])) - 1) < 1e-3),
            source=client.address,
            digest=digest_json({"url": client.address, "model": self._model}),
        )

    def tokenizer(self) -> Tokenizer:
        raise UsageError(
            f"'{self.info.name}' is an endpoint: it does not say how it splits a text into tokens.",
            hint="Choose a tokenizer by name or file.",
        )

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        # Endpoints refuse the empty string; a space is the nearest text that they take.
        cleaned = [text or " " for text in clean_texts(texts)]
        with self._lock:
            known = {text: self._remembered[text] for text in cleaned if text in self._remembered}
        batches = _batches([text for text in dict.fromkeys(cleaned) if text not in known], batch_tokens)
        executor = ThreadPoolExecutor(REQUESTS_AT_ONCE)
        try:
            for batch, part in zip(batches, executor.map(self._request_new, batches), strict=True):
                known.update(zip(batch, part, strict=True))
        finally:
            # After an error or Ctrl-C, requests that have not started are not sent.
            executor.shutdown(wait=True, cancel_futures=True)
        vectors = np.empty((len(cleaned), self.info.dimension), dtype=np.float32)  # [N, D]
        for row, text in enumerate(cleaned):
            vectors[row] = known[text]
        return vectors

    def _request_new(self, texts: list[str]) -> NDArray[np.float32]:  # [N, D]
        """The vectors of texts that are not remembered; they are from now on, even if another batch fails."""
        vectors = self._request(texts)
        if vectors.shape[1] != self.info.dimension:
            raise DataError(
                f"{self._client.address} changed the dimension of '{self._model}' from {self.info.dimension} "
                f"to {vectors.shape[1]} between two requests.",
                hint="Another model answers under that name now; vectors of both must not be mixed.",
            )
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self._remembered[text] = vector.copy()  # not a view, which would keep the whole batch
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return vectors

    def _request(self, texts: list[str]) -> NDArray[np.float32]:  # [N, D]
        body = {"model": self._model, "input": texts}
        if self._format == "base64":
            # Four times smaller than decimal numbers, and exact; some servers do not know it.
            answer = self._client.post(
                "embeddings", {**body, "encoding_format": "base64"}, tolerate=(400, 422)
            )
            if answer is None:
                answer = self._client.post("embeddings", body)
                self._format = "float"
        else:
            answer = self._client.post("embeddings", body)
        vectors = _vectors(answer, len(texts), self._client.address)
        return check_vectors(vectors, dimension=vectors.shape[1], name=f"openai:{self._model}")


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> OpenAIEncoder:
    """The endpoint that the environment names."""
    base_url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    key = os.environ.get("OPENAI_API_KEY") or None
    if key is None and base_url == DEFAULT_BASE_URL:
        raise UsageError(
            f"'{entry.name}' needs an endpoint: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set.",
            hint="Set OPENAI_API_KEY, or OPENAI_BASE_URL to a compatible server (http://localhost:8000/v1).",
        )
    return OpenAIEncoder(entry.name, RetryingClient(base_url, key), licence=entry.licence)


def _batches(texts: list[str], batch_tokens: int) -> list[list[str]]:
    """Consecutive texts, at most MAX_TEXTS and about `batch_tokens` tokens (four characters each)."""
    if batch_tokens < 1:
        raise UsageError(f"batch_tokens must be at least 1, not {batch_tokens}.")
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        tokens = len(text) // 4 + 1
        if not batches or len(batches[-1]) >= MAX_TEXTS or size + tokens > batch_tokens:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += tokens
    return batches


def _vectors(answer: Any, count: int, address: str) -> NDArray[np.float32]:  # [N, D]
    """The answer's vectors in the order of the request, whatever order they came in."""
    try:
        data = answer["data"]
        if len(data) != count:
            raise DataError(f"{address} answered with {len(data)} vectors for {count} texts.")
        if sorted(item.get("index", index) for index, item in enumerate(data)) != list(range(count)):
            raise DataError(f"{address} numbered its {count} vectors wrongly.")
        vectors: list[Any] = [None] * count
        for index, item in enumerate(data):
            vectors[item.get("index", index)] = _vector(item["embedding"])
        if len({len(vector) for vector in vectors}) != 1 or not len(vectors[0]):
            raise DataError(f"{address} answered with vectors of different dimensions.")
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise DataError(
            f"{address} did not answer as an embeddings endpoint does: {type(error).__name__}: {error}",
            hint="Check OPENAI_BASE_URL: it usually ends in /v1.",
        ) from error
    return np.stack(vectors)


def _vector(embedding: Any) -> NDArray[np.float32]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    vector = np.asarray(embedding, dtype=np.float32)
    if vector.ndim != 1:
        raise ValueError("an embedding is not a list of numbers")
    return vector
