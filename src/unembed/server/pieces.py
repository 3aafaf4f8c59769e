"""Tokens as people read them: the piece of text, and whether it joins the one before."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.model.checkpoint import Checkpoint
from unembed.model.vocabulary import END
from unembed.server.schemas import Piece

_CLOSING = set(".,!?;:%)]}'’”»…")
_OPENING = set("([{“«$")


class Pieces:
    """A checkpoint's entries, readable one by one."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._tokenizer = checkpoint.tokenizer
        self._vocabulary = checkpoint.vocabulary
        self._mask = checkpoint.denoiser.config.mask_id
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

    def tokens(self, tokens: NDArray[np.int64]) -> list[Piece]:
        """The tokenizer's ids, readable."""
        return self.entries(self._vocabulary.encode(tokens).tolist())

    def entries(self, entries: Sequence[int], log_prob: Sequence[float] | None = None) -> list[Piece]:
        """The model's entries, masks included, up to the end; with confidences, where they are known."""
        out: list[Piece] = []
        after_opening = False
        values: Sequence[float | None] = [None] * len(entries) if log_prob is None else log_prob
        for entry, value in zip(entries, values, strict=True):
            if entry == self._mask:
                out.append(Piece(text=None))
                after_opening = False
                continue
            token = int(self._vocabulary.token_ids[entry])
            if token == END:
                break
            if token < 0:
                continue
            text, joined = self.piece(token)
            sure = None if value is None else round(math.exp(min(value, 0)), 4)
            out.append(Piece(text=text, joined=joined or after_opening, confidence=sure))
            after_opening = self._wordpiece and text in _OPENING
        return out


def _plain(tokenizer: Tokenizer, token: int) -> str:
    text: str = tokenizer.decode([token], skip_special_tokens=True)
    return text
