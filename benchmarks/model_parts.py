"""What a model lacks: each part of it alone, the others given.

    python benchmarks/model_parts.py --data data/short --min-tokens 4 --max-tokens 16
    python benchmarks/model_parts.py --model runs/short/best --data data/short --samples 500 --json

Texts of the test split, their length known unless stated otherwise, one token per pass, the surest first:

- words: how many of a text's words are among the lexical head's likeliest k;
- length: how often the true one is the likeliest, and among the likeliest five;
- plain: decoded with nothing given;
- words given: each mask may only take one of the text's own words that does not stand yet, so that all
  that is left to find is their order;
- half given: every second token stands, and the others are decoded;
- attention: with nothing given, how often a position reads one token alone (more than 0.99 of its attention),
  block by block. A block that does so everywhere mixes nothing, and can learn no order;
- search: how often the model finds the true text likelier than what it decoded. Where it does, a better
  search would have helped; where not, only a better model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unembed.data.prepared import PreparedData
from unembed.decode.conditioned import ConditionedDenoiser
from unembed.decode.score import score_texts
from unembed.evaluation.samples import draw_samples
from unembed.inverter import Inverter
from unembed.metrics.accuracy import token_hits
from unembed.metrics.f1 import token_f1

TOP = (10, 20, 50, 100)
ATTENTION = 64  # sequences whose attention is measured
GIVEN = ("plain", "words given", "half given")


@torch.no_grad()
def surest_first(
    inverter: Inverter,
    vectors: Tensor,
    truth: Tensor,
    *,
    words_given: bool = False,
    stands: Tensor | None = None,
) -> Tensor:
    """Texts of one length. truth: [B, L]; stands: [B, L] positions that are given.  # [B, L]"""
    denoiser, vocabulary = inverter.denoiser, inverter.checkpoint.vocabulary
    batch, length = truth.shape
    lengths = torch.full((batch,), length)
    model = ConditionedDenoiser.read(denoiser, vectors, lengths, [vocabulary.unknown], 0.0)
    tokens = torch.full_like(truth, denoiser.config.mask_id)
    if stands is not None:
        tokens = torch.where(stands, truth, tokens)
    left = torch.zeros(batch, denoiser.config.vocabulary)  # [B, V] how often each word may still come
    left.scatter_add_(1, truth, torch.ones(truth.shape))
    while bool((masked := tokens == denoiser.config.mask_id).any()):
        logits = model.logits(tokens, masked.float().mean(dim=1), masked)  # [M, V]
        rows, positions = masked.nonzero().unbind(1)  # [M]
        if words_given:
            logits = logits.masked_fill(left[rows] <= 0, -torch.inf)
        best, word = torch.log_softmax(logits, dim=1).max(dim=1)  # [M]
        sure = torch.full(truth.shape, -torch.inf).index_put((rows, positions), best)  # [B, L]
        going = masked.any(dim=1).nonzero().squeeze(1)
        position = sure[going].argmax(dim=1)
        chosen = torch.zeros_like(truth).index_put((rows, positions), word)[going, position]
        tokens[going, position] = chosen
        left[going, chosen] -= 1
    return tokens


def accuracy(truth: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> dict[str, float]:
    hits = np.array([token_hits(t, f) for t, f in zip(truth, found, strict=True)], dtype=float)
    return {
        "token_accuracy": float(hits[:, 0].sum() / hits[:, 1].sum()),
        "token_f1": float(np.mean([token_f1(t, f) for t, f in zip(truth, found, strict=True)])),
        "exact": float(np.mean([list(t) == list(f) for t, f in zip(truth, found, strict=True)])),
    }


def _share_among(texts: Sequence[Sequence[int]], likely: Sequence[Sequence[int]], k: int) -> float:
    """Of a text's words, how many are among the first k."""
    shares = [
        len(set(text) & set(some[:k])) / len(set(text)) for text, some in zip(texts, likely, strict=True)
    ]
    return float(np.mean(shares))


@torch.no_grad()
def attention(inverter: Inverter, vectors: Tensor, length: int) -> dict[str, float]:
    """The share of positions, heads and sequences that read one token alone, in each block."""
    denoiser, shares, real = inverter.denoiser, [], F.scaled_dot_product_attention

    def watched(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)  # [B, heads, L, L]
        shares.append(float((weights.amax(dim=-1) > 0.99).float().mean()))
        return real(q, k, v, **options)

    masks = torch.full((len(vectors), length), denoiser.config.mask_id)
    prepared = denoiser.prepare(vectors, torch.full((len(vectors),), length))
    with patch.object(F, "scaled_dot_product_attention", watched):
        denoiser.hidden(masks, torch.ones(len(vectors)), prepared)
    return {f"block {number}": share for number, share in enumerate(shares)}


@torch.no_grad()
def measure(inverter: Inverter, vectors: np.ndarray, entries: list[list[int]]) -> dict[str, dict[str, float]]:
    e = torch.from_numpy(vectors)
    out: dict[str, dict[str, float]] = {}
    prepared = inverter.denoiser.prepare(e, torch.tensor([len(text) for text in entries]))
    if prepared.lexical is not None:
        likely = prepared.lexical.topk(max(TOP), dim=1).indices.tolist()
        out["words"] = {f"among {k}": _share_among(entries, likely, k) for k in TOP}
    lengths = (inverter.denoiser.length_logits(e)[:, 1:].topk(5, dim=1).indices + 1).tolist()
    right = np.array(
        [[len(text) in some[:k] for k in (1, 5)] for text, some in zip(entries, lengths, strict=True)]
    )
    out["length"] = dict(zip(("likeliest", "among 5"), right.mean(axis=0).tolist(), strict=True))
    out["attention"] = attention(inverter, e[:ATTENTION], round(np.mean([len(text) for text in entries])))
    found: dict[str, list[list[int]]] = {name: [[] for _ in entries] for name in GIVEN}
    for length in sorted({len(text) for text in entries}):
        bucket = [row for row, text in enumerate(entries) if len(text) == length]
        for first in range(0, len(bucket), 64):
            rows = bucket[first : first + 64]
            truth = torch.tensor([entries[row] for row in rows])
            every_second = (torch.arange(length) % 2 == 0).expand(len(rows), length)
            for name in GIVEN:
                tokens = surest_first(
                    inverter,
                    e[rows],
                    truth,
                    words_given=name == "words given",
                    stands=every_second if name == "half given" else None,
                ).tolist()
                for row, text in zip(rows, tokens, strict=True):
                    found[name][row] = text
    out.update({name: accuracy(entries, some) for name, some in found.items()})
    texts = [tuple(text) for text in entries]
    true, decoded = (
        np.array(score_texts(inverter.checkpoint, some, vectors, length_known=True))
        for some in (texts, [tuple(text) for text in found["plain"]])
    )
    wrong = np.array([text != some for text, some in zip(entries, found["plain"], strict=True)])
    out["search"] = {
        "wrong": float(wrong.mean()),
        "of these, the truth is likelier": float((true > decoded)[wrong].mean()),
    }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="folder of a trained model [default: the bundled one]")
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--min-tokens", type=int, default=1)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    inverter = Inverter.from_pretrained(options.model)
    checkpoint = inverter.checkpoint
    samples = draw_samples(
        PreparedData.open(options.data), "test", options.samples, seed=0, tokenizer=checkpoint.tokenizer,
        min_tokens=options.min_tokens, max_tokens=options.max_tokens,
    )  # fmt: skip
    entries = [checkpoint.vocabulary.encode(np.array(ids)).tolist() for ids in samples.tokens]
    figures = measure(inverter, samples.vectors.astype(np.float32), entries)
    if options.json:
        print(json.dumps({"n": len(entries), **figures}))
        return
    print(f"n = {len(entries)}")
    for name, some in figures.items():
        print(f"{name:12}", "  ".join(f"{label} {value:.3f}" for label, value in some.items()))


if __name__ == "__main__":
    main()
