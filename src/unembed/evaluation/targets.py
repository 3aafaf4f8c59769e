"""What is measured: a model, and the data whose vectors it inverts, checked to belong together."""

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
from unembed.evaluation.variants import GUIDED
from unembed.inverter import Inverter
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import CONFIG, WEIGHTS
from unembed.storage import read_json
from unembed.vectors.identity import result_identity

UNKNOWN = "–"


@dataclass(frozen=True)
class TargetSpec:
    """A model and its data by name: not loaded yet."""

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

    @property
    def trained(self) -> dict[str, str]:
        """What it learnt from and for how long, in a few words; an adapter was fitted on pairs."""
        training = self.checkpoint.config.training
        if isinstance(self.checkpoint, AdaptedCheckpoint):
            tuning = self.checkpoint.adapter.fine_tuning
            samples, minutes = training["adapter"].get("pairs"), None if tuning is None else tuning.minutes
            return {"Samples": f"{_count(samples)} pairs", "Minutes": _count(minutes)}
        seconds = training.get("seconds")
        minutes = seconds / 60 if isinstance(seconds, int | float) else None
        return {"Samples": _count(training.get("samples")), "Minutes": _count(minutes)}

    def describe(self, guide: Encoder | None = None) -> dict[str, Any]:
        """For the manifest: everything that decides the rows; `guide` is the encoder of guided variants."""
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
            "identity": result_identity(self.checkpoint, guide),
        }


def _count(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else UNKNOWN


def labels(specs: list[TargetSpec]) -> list[str]:
    """A short name for each: the model's folder, with as much of its path as tells them apart."""
    models = [Path(spec.model) if spec.model is not None else Path("bundled") for spec in specs]
    for depth in range(1, max(len(path.parts) for path in models) + 1):
        names = ["/".join(path.parts[-depth:]) for path in models]
        if len(set(names)) == len(set(models)):
            break
    # One model on two sets of data.
    return [
        f"{name} on {spec.data.name}" if models.count(model) > 1 else name
        for name, model, spec in zip(names, models, specs, strict=True)
    ]


def load_target(
    spec: TargetSpec, label: str, config: EvaluateConfig, trust_remote_code: bool = False
) -> Target:
    """Load the model, open the data, draw the samples; or say why the two do not go together."""
    data = PreparedData.open(spec.data)
    inverter = Inverter.from_pretrained(spec.model, trust_remote_code=trust_remote_code)
    checkpoint: Checkpoint = inverter.checkpoint
    trained, made = checkpoint.config.encoder, data.manifest.encoder
    if trained.digest != made.digest:
        raise DataError(
            f"The model '{label}' inverts vectors of {trained.name} ({trained.digest[:12]}), but "
            f"{spec.data} holds vectors of {made.name} ({made.digest[:12]}).",
            hint=f"Prepare the texts with --encoder {trained.name}, or evaluate a model for {made.name}.",
        )
    if not checkpoint.has_map and (config.floors or config.strategy != GUIDED or 0 in config.encoder_calls):
        raise UsageError(
            f"'{label}' was made without pairs and has no map yet: only guided searches can be measured.",
            hint="Add --strategy guided --encoder-calls 200,500 --no-floors; or give it pairs: unembed adapt",
        )
    if config.known_length and checkpoint.config.denoiser.length == "fixed":
        raise UsageError(
            f"The model '{label}' ends its texts by itself: it takes no length.",
            hint="Leave out --known-length.",
        )
    if config.floors and not len(data.split("train")):
        raise DataError(
            f"{spec.data} has no training texts, which the nearest-text floor needs.",
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


def parse_models(typed: str | None, data: Path | None) -> list[tuple[str, Path]]:
    """`MODEL[=DATA],...`: each model with its data, or with the one that was given for all."""
    out = []
    for part in _parts(typed):
        model, _, own = part.partition("=")
        if own:
            out.append((model, Path(own)))
        elif data is not None:
            out.append((model, data))
        else:
            raise UsageError(
                f"There is no data for the model {model}.",
                hint=f"Write {model}=DATA, or give --data.",
            )
    return out


def expand_checkpoints(typed: str | None) -> list[str]:
    """`FOLDER,...`: model folders as they are, a folder of model folders in the order of training."""
    out: list[str] = []
    for part in _parts(typed):
        folder = Path(part)
        if (folder / CONFIG).exists() or not folder.is_dir():
            out.append(part)
            continue
        inside = sorted(child for child in folder.iterdir() if (child / CONFIG).exists())
        if not inside:
            raise UsageError(
                f"There is no model in {folder}.", hint="Give model folders, or a folder that holds some."
            )
        out += [str(child) for child in sorted(inside, key=_step)]
    return list(dict.fromkeys(out))


def _parts(typed: str | None) -> list[str]:
    return [part.strip() for part in (typed or "").split(",") if part.strip()]


def _step(folder: Path) -> int:
    config = read_json(folder / CONFIG)
    training = config.get("training") if isinstance(config, dict) else None
    step = training.get("step") if isinstance(training, dict) else None
    return step if isinstance(step, int) else 0
