"""Tokens as people read them: the piece of text, and whether it joins the one before."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache

from tokenizers import Tokenizer

from unembed.model.checkpoint import Checkpoint
from unembed.server.schemas import Piece

_CLOSING = set(".,!?;:%)]}'’”»…")
_OPENING = set("([{“«$")


class Pieces:
    """A checkpoint's tokens, readable one by one."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._tokenizer = checkpoint.tokenizer
        kind = (json.loads(self._tokenizer.to_str()).get("decoder") or {}).get("type", "")
        self._wordpiece = kind == "WordPiece"
        self.piece = lru_cache(maxsize=65536)(self._piece)

    def _piece(self, token: int) -> tuple[str, bool]:
        raw = self._tokenizer.id_to_token(token) or ""
        if self._wordpiece:
            text = raw.removeprefix("##")
            return text, raw != text or (len(text) == 1 and text in _CLOSING)
        text = _plain(self._tokenizer, token)
        return text.strip() or "·", not raw.startswith(("Ġ", "▁"))

    def read(self, tokens: Sequence[int | None], log_probs: Sequence[float] = ()) -> list[Piece]:
        """Token ids, None for a mask, as pieces; with confidences if `log_probs` has one per token."""
        out: list[Piece] = []
        after_opening = False
        values: Sequence[float | None] = log_probs if len(log_probs) == len(tokens) else [None] * len(tokens)
        for token, value in zip(tokens, values, strict=True):
            if token is None:
                out.append(Piece(text=None))
                after_opening = False
                continue
            text, joined = self.piece(token)
            sure = None if value is None else round(math.exp(min(value, 0)), 4)
            out.append(Piece(text=text, joined=joined or after_opening, confidence=sure))
            after_opening = self._wordpiece and text in _OPENING
        return out


def _plain(tokenizer: Tokenizer, token: int) -> str:
    text: str = tokenizer.decode([token], skip_special_tokens=True)
    return text
