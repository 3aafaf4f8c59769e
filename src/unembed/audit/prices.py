"""What calls of a paid endpoint cost: list prices as last known, US dollars for a million tokens."""

from __future__ import annotations

PRICES = {
    "openai:text-embedding-3-small": 0.02,
    "openai:text-embedding-3-large": 0.13,
    "openai:text-embedding-ada-002": 0.10,
}
TOKENS = 16  # of a guess, where nothing better is known


def dollars(encoder: str | None, calls: int, tokens_per_text: float, price: float | None) -> float | None:
    """The price of so many texts; None where the encoder costs nothing, or nobody knows what."""
    per_million = price if price is not None else PRICES.get(encoder or "")
    return None if per_million is None or not calls else calls * tokens_per_text * per_million / 1e6
