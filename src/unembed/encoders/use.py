"""Universal Sentence Encoder, multilingual, version 3: n-gram convolutions over word pieces, 512.

The network, per token: an embedding, projected and normalised for three branches; each branch is two
residual convolutions over windows of 2, 3 or 5 tokens; embedding and branches are normalised
together, summed over the text, divided by the square root of its length, and go through a small
residual network. Texts lie one behind the other, and a window never reaches over a text's edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, check_vectors, clean_texts
from unembed.encoders.batching import TEXTS_AT_ONCE, flat_batches, pick_device
from unembed.encoders.bert import Run
from unembed.encoders.fetch import require_fetched
from unembed.encoders.recipes import RECIPES
from unembed.encoders.spm import load_sentencepiece, spm_tokenizer

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

CHUNKS = 17  # the embedding table is stored in 17 slices, each quantised with its own scale
ORDERS = (2, 3, 5)  # the branches' window sizes
WIDTH = 512
BRANCH = 256


class UniversalSentenceEncoder:
    """The encoder; its weights are the published 8-bit table and float32 matrices."""

    def __init__(self, folder: Path, info: EncoderInfo, device: str) -> None:
        self.info = info
        self._device = torch.device(device)
        self._pieces: Any = load_sentencepiece(folder / "sp.model")
        self.model_file = folder / "sp.model"
        with np.load(folder / "weights.npz", allow_pickle=False) as stored:
            rows = stored["q1"].shape[0]
            table = np.empty((CHUNKS * rows, WIDTH), dtype=np.uint8)  # [V, 512]
            for chunk in range(CHUNKS):
                table[chunk::CHUNKS] = stored[f"q{chunk + 1}"]
            weights = {
                key: torch.from_numpy(stored[key].astype(np.float32)).to(device)
                for key in stored.files
                if not key.startswith("q") and key not in ("bits", "eps")
            }
            self._eps = float(stored["eps"])
        self._w = weights
        # Kept in 8 bits (65 MB, not 262): rows become float32 when a batch needs them.
        self._table = torch.from_numpy(table).to(device)
        joined = [[weights[f"{part}{n}"] for n in ORDERS] for part in ("proj", "proj_b", "ln_g", "ln_b")]
        self._project = torch.cat(joined[0], dim=1).T.contiguous()  # [3 * 256, 512]
        self._project_bias, self._gain, self._shift = (torch.cat(parts) for parts in joined[1:])

    def tokenizer(self) -> Tokenizer:
        return spm_tokenizer(self.model_file)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), WIDTH), dtype=np.float32)  # [N, D]
        for start in range(0, len(cleaned), TEXTS_AT_ONCE):
            part = cleaned[start : start + TEXTS_AT_ONCE]
            ids = self._pieces.encode(part, out_type=int, add_bos=True, add_eos=True)
            for batch in flat_batches(ids, batch_tokens):
                tokens = torch.from_numpy(batch.ids).to(self._device)
                vectors[start + batch.rows] = self._forward(tokens, batch.runs).cpu().numpy()
        return check_vectors(vectors, dimension=WIDTH, name=self.info.name)

    def _forward(self, ids: Tensor, runs: Sequence[Run]) -> Tensor:  # [T] -> [B, 512]
        w, count = self._w, len(ids)
        chunk = ids % CHUNKS
        embedded = self._table[ids] * w["scale"][chunk, None] + w["lo"][chunk, None]  # [T, 512]
        x = F.linear(embedded, self._project, self._project_bias)  # [T, 768]
        x = F.layer_norm(x, x.shape[-1:], self._gain, self._shift, self._eps)
        windows = _windows(runs, self._device)  # [T, 5]
        features = [embedded]
        for order, branch in zip(ORDERS, torch.split(x, BRANCH, dim=1), strict=True):
            left = (order - 1) // 2
            columns = windows[:, 2 - left : 2 - left + order]  # [T, n]
            h = branch  # [T, 256]
            for layer in ("1", "2"):
                # Row `count` is the zero that stands for everything beyond the text's edge.
                padded = F.pad(h, (0, 0, 0, 1))  # [T + 1, 256]
                window = padded[columns].view(count, order * BRANCH)  # [T, n * 256]
                weight, bias = w[f"w{layer}_{order}"], w[f"b{layer}_{order}"]
                h = torch.relu(torch.addmm(bias, window, weight)) + h
            features.append(h)
        joined = torch.cat(features, dim=1)  # [T, 1280]
        joined = F.layer_norm(joined, joined.shape[-1:], w["ln_g"], w["ln_b"], self._eps)
        # Summing first and projecting then is the same (both are linear), and much less work.
        sums, lengths = _sum_texts(joined, runs)  # [B, 1280], [B, 1]
        pooled = (sums @ w["cnn_W"] + lengths * w["cnn_b"]) * lengths.rsqrt()  # [B, 512]
        y = torch.relu(pooled @ w["p1"] + torch.relu(pooled @ w["d0"]) @ w["d1"])  # [B, 320]
        z = torch.tanh(y @ w["p3"] + torch.relu(y @ w["d2"]) @ w["d3"])  # [B, 512]
        return z * z.square().sum(-1, keepdim=True).clamp_min(self._eps).rsqrt()


def _windows(runs: Sequence[Run], device: torch.device) -> Tensor:  # [T, 5]
    """For every token the rows two before to two behind it; beyond its text's edge, row T."""
    total = sum(texts * length for texts, length in runs)
    offsets = torch.arange(-2, 3, device=device)  # [5]
    parts, first = [], 0
    for texts, length in runs:
        inside = torch.arange(length, device=device)[:, None] + offsets  # [L, 5]
        starts = first + length * torch.arange(texts, device=device)[:, None, None]  # [B, 1, 1]
        valid = (inside >= 0) & (inside < length)
        parts.append(torch.where(valid, inside + starts, total).view(-1, 5))  # [B * L, 5]
        first += texts * length
    return torch.cat(parts)


def _sum_texts(x: Tensor, runs: Sequence[Run]) -> tuple[Tensor, Tensor]:
    """Each text's sum over its tokens [B, D], and its number of tokens [B, 1]."""
    sums = [
        part.view(texts, length, -1).sum(1)
        for (texts, length), part in zip(runs, torch.split(x, [n * size for n, size in runs]), strict=True)
    ]
    lengths = [torch.full((texts, 1), float(length), device=x.device) for texts, length in runs]
    return torch.cat(sums), torch.cat(lengths)


def load(
    entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False
) -> UniversalSentenceEncoder:
    """The fetched encoder."""
    folder, recipe = require_fetched(entry.name), RECIPES[entry.name]
    info = EncoderInfo(
        name=entry.name, dimension=WIDTH, pooling=entry.pooling, max_tokens=None, licence=entry.licence,
        normalised=True, source="google/universal-sentence-encoder-multilingual/3",
        digest=recipe.files[recipe.weights].sha256,
    )  # fmt: skip
    return UniversalSentenceEncoder(folder, info, pick_device(device))
