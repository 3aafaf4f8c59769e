"""What `unembed serve` can be told."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ServeConfig(BaseModel):
    """Limits and permissions; the defaults suit one person on one machine."""

    model_config = ConfigDict(frozen=True)

    token: str | None = Field(None, min_length=8, description="Bearer token that clients must send.")
    local: bool = Field(True, description="Whether only this machine can reach the server.")
    allow_origin: tuple[str, ...] = Field(
        (), description="Another site whose pages may call the API; repeat for several."
    )
    max_text: int = Field(2000, ge=1, description="Characters per text.")
    max_vectors: int = Field(64, ge=1, description="Texts or vectors per request.")
    max_body: int = Field(4_000_000, ge=1000, description="Bytes per request.")
    max_batch: int = Field(64, ge=1, description="Vectors that share a forward pass.")
    max_waiting: int = Field(512, ge=1, description="Vectors in the queue; beyond that, 503.")
    max_client: int = Field(
        128, ge=1, description="Vectors in the queue per client address; beyond that, 429."
    )
    gather: float = Field(
        0.02, ge=0, description="Seconds without a new request after which no more of them are expected."
    )
    max_encoder_calls: int = Field(
        2000, ge=1, description="Texts that a guided request may embed, over all of its vectors."
    )
    search_seconds: float = Field(
        20.0, gt=0, description="Seconds until a guided search returns the nearest texts so far."
    )
    timeout: float = Field(60.0, gt=0, description="Seconds until a request is given up.")
    log_content: bool = Field(
        False, description="Log texts and vectors too; otherwise the log holds neither."
    )
