"""A trained model as a folder that can be shared (its files: model/parts.py).

Nothing in the folder is a pickle, and every file is checked against the digest that config.json carries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tokenizers import Tokenizer
from torch import Tensor

from unembed.encoders.base import EncoderInfo
from unembed.encoders.surrogate_encoder import Surrogate
from unembed.errors import DataError, MismatchError, UsageError
from unembed.hub import snapshot, upload
from unembed.model.adapter import ADAPTER, ADAPTER_WEIGHTS
from unembed.model.card import model_card
from unembed.model.config import DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.parts import (
    AGAIN,
    CARD,
    CONFIG,
    PARTS,
    SURROGATE_CONFIG,
    TOKENIZER,
    WEIGHTS,
    OptionalParts,
    put_casing,
    put_phrases,
    put_surrogate,
)
from unembed.model.shipped import shipped_folder
from unembed.model.trigrams import PHRASES, Phrases
from unembed.model.truecasing import CASING, Casing
from unembed.model.vocabulary import Vocabulary
from unembed.model.word_vectors import WordVectors
from unembed.storage import atomic_folder, atomic_write, digest_bytes, read_checked, read_json, write_json
from unembed.text import read_back
from unembed.weights import Storage, pack, stored_as, unpack

FORMAT = 1
VOCABULARY = "vocabulary.token_ids"  # the one tensor that is not the denoiser's


class CheckpointConfig(BaseModel):
    """config.json: what the model is, what it was trained for, and the digests of its other files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(FORMAT, description="Version of this layout.")
    denoiser: DenoiserConfig
    encoder: EncoderInfo = Field(description="Whose vectors it inverts.")
    vector_norm: tuple[float, float] = Field(description="Mean and spread of the training vectors' norms.")
    training: dict[str, Any] = Field(default_factory=dict, description="How it was trained.")
    licence: str | None = Field(None, description="What its maker publishes it under. None: unknown.")
    digests: dict[str, str] = Field(default_factory=dict, description="sha256 of each other file.")


class Checkpoint:
    """The denoiser, its vocabulary and tokenizer, and all that lies with them in the model's folder."""

    FILES: ClassVar[tuple[str, ...]] = PARTS  # what is shared

    def __init__(
        self,
        denoiser: Denoiser,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        config: CheckpointConfig,
        parts: OptionalParts | None = None,
    ) -> None:
        self.denoiser = denoiser
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.config = config
        self.parts = parts or OptionalParts()
        self.stored_as: Storage = "float32"  # how it is saved; it computes in float32 either way

    @property
    def folder(self) -> Path | None:
        """Where it was loaded from."""
        return self.parts.folder

    @cached_property
    def phrases(self) -> Phrases | None:
        """Counts of word pairs and triples in the training texts, if they came with the model."""
        return self.parts.phrases(self.vocabulary)

    @cached_property
    def casing(self) -> Casing:
        """How words are usually written: by counts that came with the model, else by rule."""
        return self.parts.casing()

    @property
    def has_phrases(self) -> bool:
        """Whether counts of word pairs and triples came with the model."""
        return self.parts.has_phrases

    @property
    def has_surrogate(self) -> bool:
        """Whether a surrogate of its encoder came with the model."""
        return self.parts.has_surrogate

    @cached_property
    def surrogate(self) -> Surrogate:
        """The surrogate of its encoder that came with the model, on the denoiser's device."""
        return self.parts.surrogate(str(next(self.denoiser.parameters()).device))

    @cached_property
    def word_vectors(self) -> WordVectors:
        """Its surrogate's vectors of the vocabulary's words."""
        return WordVectors(self.texts, len(self.vocabulary), self.surrogate)

    @property
    def has_map(self) -> bool:
        """Whether it can read vectors as it is: not before an adapter without pairs was fitted."""
        return True

    def check_map(self) -> None:
        """Raise an error where it has none."""
        if not self.has_map:
            raise UsageError(
                f"This adapter for '{self.config.encoder.name}' was made without pairs: it has no map yet.",
                hint="A guided search makes one, with calls of the encoder (--strategy guided); or fit one "
                "now: unembed adapt --pairs 1000",
            )

    def reading_standardised(self) -> Checkpoint:
        """The same model, given standardised vectors instead of its encoder's."""
        denoiser = self.denoiser.reading_standardised()
        config = self.config.model_copy(update={"denoiser": denoiser.config})
        return Checkpoint(denoiser, self.vocabulary, self.tokenizer, config, self.parts)

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The model's entries as texts, written as the texts of the data are."""
        return read_back(self.tokenizer, [self.vocabulary.decode(entries) for entries in sequences])

    def penalising_repeats(self, penalty: float) -> Checkpoint:
        """The same model, but a word that is already in the text loses so many nats."""
        if self.config.denoiser.lexical_hidden == 0:
            raise UsageError(
                "This model has no lexical head to take repeated words back from.",
                hint="Leave the penalty out, or train with --lexical-hidden 512.",
            )
        changed = self.config.denoiser.model_copy(update={"repeat_penalty": penalty})
        denoiser = Denoiser(changed)
        denoiser.load_state_dict(self.denoiser.state_dict())
        config = self.config.model_copy(update={"denoiser": changed})
        same = changed == self.config.denoiser
        parts = self.parts if same else replace(self.parts, with_card=False)  # its figures are not this one's
        out = Checkpoint(denoiser.eval(), self.vocabulary, self.tokenizer, config, parts)
        out.stored_as = self.stored_as
        return out

    def save(self, folder: Path) -> None:
        """Replace `folder` by all of it: a reader finds the old model or the new one.

        A model that was not loaded from a folder, as in training, keeps the phrases and the surrogate that
        lie there, where they are of its vocabulary and encoder.
        """
        with atomic_folder(folder) as fresh:
            whole = self if self.folder is not None else self._with_parts_of(folder)
            whole.save_pretrained(fresh)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write all of it into `folder`. A card that lies there stays."""
        folder = Path(folder)
        optional = self.parts.contents()
        card = optional.pop(CARD, None)
        files = {WEIGHTS: self._weights(), TOKENIZER: self._tokenizer_json(), **optional}
        listed = (WEIGHTS, TOKENIZER, PHRASES, CASING, SURROGATE_CONFIG)
        digests = {name: digest_bytes(files[name]) for name in listed if name in files}
        config = self.config.model_copy(update={"digests": digests})
        if not (folder / CARD).exists():
            files[CARD] = model_card(config).encode() if card is None else card
        for name, content in files.items():
            with atomic_write(folder / name) as file:
                file.write(content)
        write_json(folder / CONFIG, config.model_dump(mode="json"))

    def add_phrases(self, phrases: Phrases) -> None:
        """Put counts of word pairs and triples into the folder that it was loaded from."""
        put_phrases(self._own_folder(), phrases)

    def add_casing(self, casing: Casing) -> None:
        """Put how words are written into the folder that it was loaded from."""
        put_casing(self._own_folder(), casing)

    def add_surrogate(self, surrogate: Surrogate) -> None:
        """Put a surrogate of its encoder into the folder that it was loaded from."""
        self.refuse_surrogate_of(surrogate.config.encoder)
        put_surrogate(self._own_folder(), surrogate)

    def refuse_surrogate_of(self, encoder: EncoderInfo) -> None:
        """Raise for another encoder than the one whose vectors this model inverts."""
        wanted = self.config.encoder
        if encoder.digest != wanted.digest:
            raise MismatchError(
                f"A surrogate of '{encoder.name}' does not fit: the model inverts those of '{wanted.name}'.",
                hint="Train it on data that was prepared with the model's encoder.",
            )

    def write_card(self, text: str) -> None:
        """Write a card, and the licence that it names, into the folder that it was loaded from."""
        folder = self._own_folder()
        write_json(folder / CONFIG, self.config.model_dump(mode="json"))
        with atomic_write(folder / CARD) as file:
            file.write(text.encode())

    def push_to_hub(
        self,
        repository: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str | None = None,
    ) -> str:
        """Upload all of it to the hub, in one commit; its address."""
        with tempfile.TemporaryDirectory() as temporary:
            self.save_pretrained(temporary)
            return upload(
                Path(temporary),
                repository,
                private=private,
                token=token,
                revision=revision,
                message=commit_message or "Upload an unembed model",
                allow=self.FILES,
            )

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
    ) -> Checkpoint:
        """A model's folder, an encoder that an adapter ships for, or a hub id (with its options)."""
        folder, name = Path(name), str(name)
        shipped = None if folder.is_dir() else shipped_folder(name)
        if shipped is not None:
            folder = shipped
        elif not folder.is_dir():
            if folder.is_absolute() or name.count("/") > 1 or name.startswith("."):
                raise UsageError(
                    f"There is no model folder {name}.",
                    hint="Give a model's folder, or a hub id (owner/model).",
                )
            folder = snapshot(
                name,
                revision=revision,
                token=token,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                allow=(*PARTS, ADAPTER, ADAPTER_WEIGHTS),
            )
        return load_checkpoint(folder)

    def _with_parts_of(self, folder: Path) -> Checkpoint:
        """This model, with the phrases and the surrogate of a folder that are of its kind."""
        if not (folder / CONFIG).is_file():
            return self
        listed = read_json(folder / CONFIG).get("digests", {})
        parts = OptionalParts(folder, listed).that_fit(self.vocabulary, self.config.encoder)
        out = Checkpoint(self.denoiser, self.vocabulary, self.tokenizer, self.config, parts)
        out.stored_as = self.stored_as
        return out

    def _own_folder(self) -> Path:
        if self.folder is None:
            raise UsageError("This model has no folder yet.", hint="Save it, and load it from there.")
        return self.folder

    def _weights(self) -> bytes:
        """The weights' file. What was loaded and not changed is the same file, byte for byte."""
        state = self.denoiser.state_dict()
        before = self._loaded(WEIGHTS)
        if before is not None:
            tensors = load_tensors(before)
            same = stored_as(tensors) == self.stored_as and _equal(tensors, self.vocabulary, state)
            if same:
                return before
        # Mean and whitening are small, and everything the model knows comes through them.
        whole = [name for name in state if name.startswith("standardise.")]
        tensors = pack(state, self.stored_as, whole=whole)
        tensors[VOCABULARY] = torch.from_numpy(self.vocabulary.token_ids)
        return save_tensors(tensors, metadata={"format": "pt"})

    def _tokenizer_json(self) -> bytes:
        text = self.tokenizer.to_str()
        before = self._loaded(TOKENIZER)
        if before is not None and Tokenizer.from_str(before.decode()).to_str() == text:
            return before
        return text.encode()

    def _loaded(self, name: str) -> bytes | None:
        """A file as it was loaded, if it is still there."""
        if self.folder is None or not (self.folder / name).is_file():
            return None
        content = (self.folder / name).read_bytes()
        return content if digest_bytes(content) == self.config.digests.get(name) else None


def _equal(tensors: dict[str, Tensor], vocabulary: Vocabulary, state: dict[str, Tensor]) -> bool:
    """Whether a file's tensors are these weights and this vocabulary."""
    ids = tensors.pop(VOCABULARY, None)
    if ids is None or ids.tolist() != vocabulary.token_ids.tolist():
        return False
    weights = unpack(tensors)
    return weights.keys() == state.keys() and all(
        torch.equal(weight, state[name].cpu()) for name, weight in weights.items()
    )


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint folder, or an adapter's; a missing, truncated or altered file is named."""
    if (folder / ADAPTER).is_file():
        from unembed.model.adapted_checkpoint import load_adapted

        return load_adapted(folder)
    if folder.is_dir() and not (folder / CONFIG).is_file():
        raise UsageError(
            f"{folder} is not a model's folder: it has no {CONFIG}.",
            hint="Name a folder that `unembed train` wrote, such as runs/mine/best, or a hub id.",
        )
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
        raise DataError(
            f"{folder / CONFIG} does not describe an unembed model: {error}",
            hint="Give a folder that 'unembed train' or 'unembed model export' wrote.",
        ) from error
    weights, tokenizer_json = (
        read_checked(folder / name, config.digests.get(name), hint=AGAIN) for name in (WEIGHTS, TOKENIZER)
    )
    try:
        tensors = load_tensors(weights)
        vocabulary = Vocabulary(tensors.pop(VOCABULARY).numpy())
        precision = stored_as(tensors)
        with torch.device("meta"):
            denoiser = Denoiser(config.denoiser)
        denoiser.load_state_dict(unpack(tensors), assign=True)
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise DataError(
            f"{folder / WEIGHTS} does not fit its configuration: {error}",
            hint="Copy or download the model again.",
        ) from error
    tokenizer = Tokenizer.from_str(tokenizer_json.decode())
    checkpoint = Checkpoint(
        denoiser.eval(), vocabulary, tokenizer, config, OptionalParts(folder, config.digests)
    )
    checkpoint.stored_as = precision
    return checkpoint
