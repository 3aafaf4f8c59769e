"""A trained model as a folder that can be shared: config.json, model.safetensors, tokenizer.json, README.md.

huggingface_hub's mixin gives `from_pretrained`, `save_pretrained` and `push_to_hub`. Nothing in the
folder is a pickle, and every file is checked against the digest that config.json carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelHubMixin, snapshot_download
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tokenizers import Tokenizer

from unembed.encoders.base import EncoderInfo
from unembed.errors import DataError, UnavailableError, UsageError
from unembed.model.card import model_card
from unembed.model.config import DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.phrases import PHRASES
from unembed.model.vocabulary import Vocabulary
from unembed.storage import atomic_write, digest_bytes, read_checked, read_json, write_json
from unembed.text import read_back
from unembed.weights import Storage, pack, unpack

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
VOCABULARY = "vocabulary.token_ids"  # the one tensor that is not the denoiser's
_AGAIN = "Copy or download the model again."


class CheckpointConfig(BaseModel):
    """config.json: what the model is, what it was trained for, and the digests of its other files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(FORMAT, description="Version of this layout.")
    denoiser: DenoiserConfig
    encoder: EncoderInfo = Field(description="Whose vectors it inverts.")
    vector_norm: tuple[float, float] = Field(description="Mean and spread of the training vectors' norms.")
    training: dict[str, Any] = Field(default_factory=dict, description="How it was trained.")
    digests: dict[str, str] = Field(default_factory=dict, description="sha256 of each other file.")


class Checkpoint(
    ModelHubMixin,
    library_name="unembed",
    tags=["embedding-inversion", "masked-diffusion"],
    license="apache-2.0",
):
    """The denoiser, its vocabulary and tokenizer, and what is known about them."""

    def __init__(
        self, denoiser: Denoiser, vocabulary: Vocabulary, tokenizer: Tokenizer, config: CheckpointConfig
    ) -> None:
        self.denoiser = denoiser
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.config = config
        self.folder: Path | None = None  # where it was loaded from
        self.stored_as: Storage = "float32"  # how it is saved; it computes in float32 either way

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The model's entries as texts, written as the texts of the data are."""
        return read_back(self.tokenizer, [self.vocabulary.decode(entries) for entries in sequences])

    def penalising_repeats(self, penalty: float) -> Checkpoint:
        """The same model, but a word that stands already loses so many nats."""
        if self.config.denoiser.lexical_hidden == 0:
            raise UsageError(
                "This model has no lexical head to take repeated words back from.",
                hint="Leave the penalty out, or train with --lexical-hidden 512.",
            )
        changed = self.config.denoiser.model_copy(update={"repeat_penalty": penalty})
        denoiser = Denoiser(changed)
        denoiser.load_state_dict(self.denoiser.state_dict())
        config = self.config.model_copy(update={"denoiser": changed})
        return Checkpoint(denoiser.eval(), self.vocabulary, self.tokenizer, config)

    def _save_pretrained(self, save_directory: Path) -> None:
        folder = Path(save_directory)
        state = self.denoiser.state_dict()
        # Mean and whitening are small, and everything the model knows comes through them.
        whole = [name for name in state if name.startswith("standardise.")]
        tensors = pack(state, self.stored_as, whole=whole)
        tensors[VOCABULARY] = torch.from_numpy(self.vocabulary.token_ids)
        files = {
            WEIGHTS: save_tensors(tensors, metadata={"format": "pt"}),
            TOKENIZER: self.tokenizer.to_str().encode(),
        }
        for name, content in files.items():
            with atomic_write(folder / name) as file:
                file.write(content)
        digests = {name: digest_bytes(content) for name, content in files.items()}
        config = self.config.model_copy(update={"digests": digests})
        if not (folder / CARD).exists():
            with atomic_write(folder / CARD) as file:
                file.write(model_card(config).encode())
        write_json(folder / CONFIG, config.model_dump(mode="json"))

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | Path, **options: Any) -> Checkpoint:
        """A folder, or a hub id with the mixin's options (revision, token, cache_dir, ...).

        The mixin's own version reads config.json by itself, before anything is checked.
        """
        return cls._from_pretrained(model_id=str(pretrained_model_name_or_path), **options)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        **_: Any,
    ) -> Checkpoint:
        folder = Path(model_id)
        if not folder.is_dir():
            if folder.is_absolute() or model_id.count("/") > 1 or model_id.startswith("."):
                raise UsageError(f"There is no model folder {model_id}.")
            try:
                folder = Path(
                    snapshot_download(
                        model_id,
                        revision=revision,
                        cache_dir=cache_dir,
                        force_download=force_download,
                        local_files_only=local_files_only,
                        token=token,
                        allow_patterns=[CONFIG, WEIGHTS, TOKENIZER, "surrogate/*", PHRASES],
                    )
                )
            except Exception as error:
                raise UnavailableError(
                    f"The model '{model_id}' is neither a local folder nor to be had from the hub.",
                    hint="Check the name, or give the folder of a trained model.",
                ) from error
        return load_checkpoint(folder)


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint folder; a missing, truncated or altered file is named."""
    described = read_json(folder / CONFIG)
    written = described.get("format") if isinstance(described, dict) else None
    if written is not None and written != FORMAT:
        raise DataError(
            f"{folder} has format {written}; this version of unembed reads format {FORMAT}.",
            hint="Install the version of unembed that wrote it, or a newer one.",
        )
    try:
        config = CheckpointConfig.model_validate(described)
    except ValidationError as error:
        raise DataError(f"{folder / CONFIG} does not describe an unembed model: {error}") from error
    weights, tokenizer_json = (
        read_checked(folder / name, config.digests.get(name), hint=_AGAIN) for name in (WEIGHTS, TOKENIZER)
    )
    try:
        tensors = load_tensors(weights)
        vocabulary = Vocabulary(tensors.pop(VOCABULARY).numpy())
        with torch.device("meta"):
            denoiser = Denoiser(config.denoiser)
        denoiser.load_state_dict(unpack(tensors), assign=True)
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise DataError(f"{folder / WEIGHTS} does not fit its configuration: {error}") from error
    tokenizer = Tokenizer.from_str(tokenizer_json.decode())
    checkpoint = Checkpoint(denoiser.eval(), vocabulary, tokenizer, config)
    checkpoint.folder = folder
    return checkpoint
