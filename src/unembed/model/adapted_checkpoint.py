"""A model behind an adapter: the base's blocks, another encoder's vectors. What takes a model takes it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, NoReturn

import torch

from unembed.encoders import surrogate_encoder as surrogates
from unembed.encoders.surrogate_encoder import Surrogate, SurrogateConfig, SurrogateNetwork
from unembed.errors import DataError, MismatchError, UsageError
from unembed.model import bundled
from unembed.model.adapter import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    BUNDLED,
    AdapterConfig,
    AdapterWeights,
    read_adapter,
    save_adapter,
)
from unembed.model.card import adapter_card
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.denoiser import Denoiser
from unembed.model.parts import CARD, WEIGHTS
from unembed.model.trigrams import Phrases
from unembed.model.truecasing import Casing
from unembed.storage import atomic_folder, atomic_write, digest_json, write_json


class AdaptedCheckpoint(Checkpoint):
    """An adapter and its base. What is saved and shared is the adapter alone."""

    FILES: ClassVar[tuple[str, ...]] = (ADAPTER, ADAPTER_WEIGHTS, CARD)

    def __init__(
        self, base: Checkpoint, adapter: AdapterConfig, weights: AdapterWeights, home: Path | None = None
    ) -> None:
        described = base.config.denoiser
        if len(weights.shift) != described.standard_dim:
            raise DataError(
                f"The adapter maps to {len(weights.shift)} dimensions, "
                f"its base reads {described.standard_dim}."
            )
        config = described.model_copy(
            update={"vector_dim": adapter.encoder.dimension, "native_dim": described.standard_dim}
        )
        with torch.device("meta"):
            denoiser = Denoiser(config)
        state = base.denoiser.state_dict() | {
            "standardise.mean": weights.mean,
            "standardise.whiten": weights.matrix,
            "standardise.shift": weights.shift,
        }
        denoiser.load_state_dict(state, assign=True)
        # What it recovers depends on both.
        digests = base.config.digests | {
            WEIGHTS: digest_json([base.config.digests.get(WEIGHTS), adapter.digests.get(ADAPTER_WEIGHTS)])
        }
        super().__init__(
            denoiser.eval(),
            base.vocabulary,
            base.tokenizer,
            CheckpointConfig(
                denoiser=config,
                encoder=adapter.encoder,
                vector_norm=adapter.vector_norm,
                training={"adapter": adapter.fit, "base": base.config.training},
                licence=adapter.licence,
                digests=digests,
            ),
            base.parts,
        )
        self.base, self.adapter, self.weights, self.home = base, adapter, weights, home
        self.stored_as = base.stored_as

    @property
    def has_map(self) -> bool:
        """Whether the adapter was fitted: one without pairs is, by every search anew."""
        return self.adapter.has_map

    @property
    def has_surrogate(self) -> bool:
        """Whether the base has one and the adapter its last layer."""
        return self.weights.project is not None and self.base.has_surrogate

    @cached_property
    def surrogate(self) -> Surrogate:
        """The base's surrogate with the adapter's last layer."""
        original = self.base.surrogate
        if self.weights.project is None or self.weights.bias is None:
            return self.base.parts.surrogate("cpu")  # which says that there is none
        with torch.device("meta"):
            network = SurrogateNetwork(original.config.network, self.adapter.encoder.dimension)
        network.load_state_dict(
            original.network.state_dict()
            | {"project.weight": self.weights.project, "project.bias": self.weights.bias},
            assign=True,
        )
        digest = digest_json([original.info.digest, self.adapter.digests.get(ADAPTER_WEIGHTS)])
        config = SurrogateConfig(
            network=original.config.network,
            encoder=self.adapter.encoder,
            training=self.adapter.fit,
            digests={surrogates.WEIGHTS: digest},
        )
        device = str(next(self.denoiser.parameters()).device)
        return Surrogate(network, original.tokenizer(), config, device)

    def save(self, folder: Path) -> None:
        """Replace `folder` by the adapter."""
        with atomic_folder(folder) as fresh:
            self.save_pretrained(fresh)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the adapter into `folder`; the base is named, not copied. A card that lies there stays."""
        folder = Path(folder)
        save_adapter(folder, self.adapter, self.weights)
        if not (folder / CARD).exists():
            own = None if self.home is None else self.home / CARD
            with atomic_write(folder / CARD) as file:
                file.write(
                    own.read_bytes()
                    if own is not None and own.is_file()
                    else adapter_card(self.adapter).encode()
                )

    def write_card(self, text: str) -> None:
        """Write a card, and the licence that it names, into the adapter's folder."""
        folder = self._own_folder()
        adapter = self.adapter.model_copy(update={"licence": self.config.licence})
        write_json(folder / ADAPTER, adapter.model_dump(mode="json"))
        with atomic_write(folder / CARD) as file:
            file.write(text.encode())

    def add_phrases(self, phrases: Phrases) -> None:
        """An adapter has its base's."""
        _of_the_base("phrases")

    def add_casing(self, casing: Casing) -> None:
        """An adapter has its base's."""
        _of_the_base("casing")

    def add_surrogate(self, surrogate: Surrogate) -> None:
        """An adapter has its base's, with a last layer of its own."""
        _of_the_base("surrogate")

    def penalising_repeats(self, penalty: float) -> Checkpoint:
        """An adapter has its base's penalty."""
        _of_the_base("repeat penalty")

    def _own_folder(self) -> Path:
        if self.home is None:
            raise UsageError("This adapter has no folder yet.", hint="Save it, and load it from there.")
        return self.home


def _of_the_base(what: str) -> NoReturn:
    raise UsageError(
        f"An adapter takes its {what} from its base.", hint=f"Give the base its {what}, and adapt it again."
    )


def load_adapted(folder: Path) -> AdaptedCheckpoint:
    """An adapter's folder, on the base that it names."""
    config, weights = read_adapter(folder)
    wanted = config.base
    base = Checkpoint.from_pretrained(bundled.BUNDLED if wanted.name == BUNDLED else wanted.name)
    found = base.config.digests.get(WEIGHTS)
    if found != wanted.digest:
        raise MismatchError(
            f"{folder} is an adapter for another version of its base, {wanted.name}: "
            f"that one's weights are {wanted.digest[:12]}, these {(found or 'unknown')[:12]}.",
            hint="Adapt this base to the encoder again (unembed adapt), or install the version of before.",
        )
    return AdaptedCheckpoint(base, config, weights, folder)
