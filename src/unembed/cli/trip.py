"""A text's round trip: its vector, what the model reads out of it, and how near that comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unembed.cli.agree import agreeing
from unembed.cli.console import say
from unembed.decode.result import Inversion
from unembed.inverter import Inverter
from unembed.vectors.results import as_row


@dataclass(frozen=True)
class Trip:
    """There and back."""

    text: str
    result: Inversion
    cosine: float  # between the vectors of both texts, by the model's own encoder
    spans: tuple[tuple[int, int], ...]  # of the recovered words that agree
    words: int  # of the text
    strategy: str
    steps: int | None
    seconds: float  # for this text's inversion; without its encoding

    def as_json(self) -> dict[str, Any]:
        """One JSON object."""
        row = as_row(0, self.result)
        del row["index"]
        guide = row.pop("cosine")  # by the encoder that guided, which may be another
        return {
            "text": self.text,
            "recovered": row.pop("text"),
            "cosine": round(self.cosine, 6),
            **({} if guide is None else {"guide_cosine": round(guide, 6)}),
            "words_agreeing": len(self.spans),
            "words": self.words,
            **row,
            "strategy": self.strategy,
            "steps": self.steps,
            "seconds": round(self.seconds, 4),
        }


def round_trip(
    inverter: Inverter,
    texts: Sequence[str],
    settings: dict[str, Any],
    invert: Callable[[Any, dict[str, Any]], Sequence[Inversion]],
) -> Iterator[Trip]:
    """Each text on its own, so that its time is its own."""
    from unembed.text import tokenise

    vectors = inverter.encode(texts)  # [N, D]
    sizes = [len(ids) for ids in tokenise(inverter.checkpoint.tokenizer, texts)]
    lengths = settings["lengths"]
    for row, (text, size) in enumerate(zip(texts, sizes, strict=True)):
        if size > inverter.max_length:
            say(f"Note: this text has {size} tokens, and the model writes at most {inverter.max_length}.")
        own = {**settings, "lengths": lengths[row] if isinstance(lengths, list) else lengths}
        began = time.perf_counter()
        [result] = invert(vectors[row : row + 1], own)
        seconds = time.perf_counter() - began
        back = inverter.encode([result.text])[0]  # [D]
        norm = float(np.linalg.norm(back) * np.linalg.norm(vectors[row])) or 1.0
        spans, words = agreeing(text, result.text)
        yield Trip(
            text=text,
            result=result,
            cosine=float(back @ vectors[row]) / norm,
            spans=tuple(spans),
            words=words,
            strategy=settings["strategy"],
            steps=settings["steps"],
            seconds=seconds,
        )
