"""A surrogate: a small network that stands in for an encoder, learnt from texts and their vectors alone.

Whoever holds the pairs that an inverter is trained on can train one, and search with it without a call of
the encoder. Its blocks are BERT's, smaller; its weights are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tokenizers import Tokenizer
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear
from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, check_vectors, clean_texts
from unembed.encoders.batching import TEXTS_AT_ONCE, flat_batches, pick_device
from unembed.encoders.bert import Bert, BertConfig, Run, mean_pool
from unembed.errors import DataError
from unembed.storage import atomic_write, digest_bytes, read_checked, read_json, write_json
from unembed.weights import pack, unpack

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER = "surrogate.json", "model.safetensors", "tokenizer.json"


class SurrogateConfig(BaseModel):
    """surrogate.json: what it is, and which encoder it stands in for."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    format: int = FORMAT
    network: BertConfig
    encoder: EncoderInfo = Field(
        validation_alias=AliasChoices("encoder", "imitates"),  # its name in earlier files
        description="The encoder whose vectors it learnt.",
    )
    training: dict[str, Any] = Field(default_factory=dict, description="How it was trained.")
    digests: dict[str, str] = Field(default_factory=dict, description="sha256 of each other file.")


class SurrogateNetwork(nn.Module):
    """Token ids to vectors of length 1."""

    def __init__(self, config: BertConfig, dimension: int) -> None:
        super().__init__()
        self.bert = Bert(config)
        self.project = PackedLinear(config.hidden_size, dimension)

    @torch.no_grad()
    def initialise(self) -> None:
        """BERT's own: small normal weights."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        nn.init.xavier_uniform_(self.project.weight)

    def forward(self, ids: Tensor, runs: Sequence[Run]) -> Tensor:  # [T] -> [B, dimension]
        vectors: Tensor = self.project(self.hidden(ids, runs))  # [B, dimension]
        return F.normalize(vectors.float(), dim=-1)

    def hidden(self, ids: Tensor, runs: Sequence[Run]) -> Tensor:  # [T] -> [B, width]
        """What the last layer reads: an adapter fits another one for another encoder."""
        return mean_pool(self.bert(ids, runs), runs)


class Surrogate:
    """The trained network as an encoder."""

    def __init__(
        self,
        network: SurrogateNetwork,
        tokenizer: Tokenizer,
        config: SurrogateConfig,
        device: str = "cpu",
        folder: Path | None = None,
    ) -> None:
        self.config = config
        self.network = network.to(device).eval().requires_grad_(False)
        self._tokenizer = tokenizer
        self._device = device
        self.info = config.encoder.model_copy(
            update={
                # load_encoder() takes a folder; a surrogate in memory has no name that it could take.
                "name": str(folder) if folder is not None else f"surrogate of {config.encoder.name}",
                "source": f"learnt from the vectors of {config.encoder.name}",
                "digest": config.digests.get(WEIGHTS, ""),
                "max_tokens": config.network.max_position_embeddings,
                "normalised": True,
            }
        )

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.from_str(self._tokenizer.to_str())

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        vectors = self._read(texts, self.network, self.info.dimension, batch_tokens)  # [N, D]
        return check_vectors(vectors, dimension=self.info.dimension, name=self.info.name)

    def hidden(self, texts: Sequence[str]) -> NDArray[np.float32]:  # [N, width]
        """The network's state before its last layer."""
        return self._read(texts, self.network.hidden, self.config.network.hidden_size, BATCH_TOKENS)

    @torch.inference_mode()
    def _read(
        self,
        texts: Sequence[str],
        network: Callable[[Tensor, Sequence[Run]], Tensor],
        dimension: int,
        batch_tokens: int,
    ) -> NDArray[np.float32]:  # [N, dimension]
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), dimension), dtype=np.float32)  # [N, dimension]
        longest = self.config.network.max_position_embeddings
        for start in range(0, len(cleaned), TEXTS_AT_ONCE):
            encodings = self._tokenizer.encode_batch_fast(
                cleaned[start : start + TEXTS_AT_ONCE], add_special_tokens=False
            )
            # A text without a token still has a vector: that of a single token 0.
            ids = [encoding.ids[:longest] or [0] for encoding in encodings]
            for batch in flat_batches(ids, batch_tokens):
                pooled = network(torch.from_numpy(batch.ids).to(self._device), batch.runs)  # [B, dimension]
                vectors[start + batch.rows] = pooled.float().cpu().numpy()
        return vectors

    def save(self, folder: Path) -> None:
        """Write the folder: words in eight bits, the rest in float16. The network computes in float32."""
        tensors = pack(self.network.state_dict(), "int8")
        files = {WEIGHTS: save_tensors(tensors), TOKENIZER: self._tokenizer.to_str().encode()}
        for name, content in files.items():
            with atomic_write(folder / name) as file:
                file.write(content)
        digests = {name: digest_bytes(content) for name, content in files.items()}
        config = self.config.model_copy(update={"digests": digests})
        write_json(folder / CONFIG, config.model_dump(mode="json"))


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> Surrogate:
    """The surrogate in a folder."""
    return load_surrogate(Path(entry.origin), device=device)


def load_surrogate(folder: Path, *, device: str | None = None) -> Surrogate:
    """A surrogate's folder, each file checked against its digest."""
    try:
        config = SurrogateConfig.model_validate(read_json(folder / CONFIG))
    except ValidationError as error:
        raise DataError(
            f"{folder / CONFIG} is damaged: {error}",
            hint="Copy the folder again, or train the surrogate again: unembed surrogate --help",
        ) from error
    contents = {name: read_checked(folder / name, config.digests.get(name)) for name in (WEIGHTS, TOKENIZER)}
    with torch.device("meta"):
        network = SurrogateNetwork(config.network, config.encoder.dimension)
    try:
        network.load_state_dict(unpack(load_tensors(contents[WEIGHTS])), assign=True)
    except (SafetensorError, RuntimeError) as error:
        raise DataError(
            f"{folder / WEIGHTS} does not fit {CONFIG}: {error}",
            hint="Copy the folder again, or train the surrogate again: unembed surrogate --help",
        ) from error
    tokenizer = Tokenizer.from_str(contents[TOKENIZER].decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Surrogate(network, tokenizer, config, pick_device(device), folder)
