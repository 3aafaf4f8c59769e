"""What is attacked with what: a model and the data whose vectors it inverts, checked to fit each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unembed.data.prepared import PreparedData
from unembed.encoders import load_encoder
from unembed.encoders.base import Encoder
from unembed.errors import DataError, UsageError
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.samples import Samples, draw_samples
from unembed.inverter import Inverter
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import WEIGHTS


@dataclass(frozen=True)
class Place:
    """Where a model and its data are."""

    model: str | None  # None: the bundled model
    data: Path

    @property
    def name(self) -> str:
        return "bundled" if self.model is None else Path(self.model).name


@dataclass(frozen=True)
class Target:
    """A model and the samples that it is to recover."""

    label: str
    inverter: Inverter
    data: PreparedData
    samples: Samples

    @property
    def checkpoint(self) -> Checkpoint:
        return self.inverter.checkpoint

    @property
    def fixed_length(self) -> bool:
        """Whether the model always writes to its full length, end and padding included."""
        return self.checkpoint.config.denoiser.length == "fixed"

    @property
    def step(self) -> int | None:
        """After how many training steps the model was saved, where it says so."""
        step = self.checkpoint.config.training.get("step")
        return step if isinstance(step, int) else None

    def describe(self) -> dict[str, Any]:
        """For the manifest: everything that decides the rows."""
        config, manifest = self.checkpoint.config, self.data.manifest
        return {
            "label": self.label,
            "model": config.digests.get(WEIGHTS),
            "parameters": sum(weight.numel() for weight in self.checkpoint.denoiser.parameters()),
            "vocabulary": len(self.checkpoint.vocabulary),
            "length": config.denoiser.length,
            "max_length": config.denoiser.max_length,
            "step": self.step,
            "encoder": manifest.encoder.name,
            "encoder_digest": manifest.encoder.digest,
            "dimension": manifest.encoder.dimension,
            "data": self.data.digest,
            "trained_on_this_data": self.data.digest in config.training.get("data", ()),
            "samples": len(self.samples),
        }


def labels(places: list[Place]) -> list[str]:
    """A short name for each: the model's folder, with as much of its path as tells them apart."""
    models = [Path(place.model) if place.model is not None else Path("bundled") for place in places]
    for depth in range(1, max(len(path.parts) for path in models) + 1):
        names = ["/".join(path.parts[-depth:]) for path in models]
        if len(set(names)) == len(set(models)):
            break
    # One model on two sets of data.
    return [
        f"{name} on {place.data.name}" if models.count(model) > 1 else name
        for name, model, place in zip(names, models, places, strict=True)
    ]


def load_target(place: Place, label: str, config: EvaluateConfig, trust_remote_code: bool = False) -> Target:
    """Load the model, open the data, draw the samples; or say why the two do not go together."""
    data = PreparedData.open(place.data)
    inverter = Inverter.from_pretrained(place.model, trust_remote_code=trust_remote_code)
    checkpoint: Checkpoint = inverter.checkpoint
    trained, made = checkpoint.config.encoder, data.manifest.encoder
    if trained.digest != made.digest:
        raise DataError(
            f"The model '{label}' inverts vectors of {trained.name} ({trained.digest[:12]}), but "
            f"{place.data} holds vectors of {made.name} ({made.digest[:12]}).",
            hint=f"Prepare the texts with --encoder {trained.name}, or evaluate a model for {made.name}.",
        )
    if config.known_length and checkpoint.config.denoiser.length == "fixed":
        raise UsageError(
            f"The model '{label}' finds the end of a text itself: it cannot be told a length.",
            hint="Leave out --known-length.",
        )
    if config.floors and not len(data.split("train")):
        raise DataError(
            f"{place.data} has no training texts among which the nearest could be looked for.",
            hint="Leave the floors out with --no-floors.",
        )
    samples = draw_samples(
        data,
        config.split,
        config.samples,
        seed=config.seed,
        tokenizer=checkpoint.tokenizer,
        min_tokens=config.min_tokens,
        max_tokens=config.max_tokens,
    )
    if config.floors and len(samples) < 2:
        raise UsageError(
            "The floors need at least two texts: one is given the other's vector.",
            hint="Raise --samples, or leave the floors out with --no-floors.",
        )
    return Target(label, inverter, data, samples)


def victim(data: PreparedData, trust_remote_code: bool = False) -> Encoder:
    """The encoder that made the data's vectors, and no other version of it."""
    wanted = data.manifest.encoder
    encoder = load_encoder(wanted.name, trust_remote_code=trust_remote_code)
    if encoder.info.digest != wanted.digest:
        raise DataError(
            f"The encoder {wanted.name} here is not the one that made {data.folder}: its weights differ.",
            hint="Leave the cosine out (--metrics), or prepare the data again with this encoder.",
        )
    return encoder
