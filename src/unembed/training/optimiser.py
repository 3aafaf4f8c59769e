"""AdamW with decoupled decay groups, and how its rate rises and falls."""

from __future__ import annotations

import math
from typing import Protocol

import torch

from unembed.model.denoiser import Denoiser
from unembed.training.config import TrainConfig


def make_optimiser(denoiser: Denoiser, config: TrainConfig) -> torch.optim.AdamW:
    """Pretrained weights learn at the base rate, new ones `new_rate` times faster; only matrices decay.

    The condition has a rate of its own: AdamW moves all its inputs' weights together, so that a rate which
    suits the heads makes its sums leap, and the blocks drown in them.
    """
    pretrained = _pretrained_names(denoiser) if config.backbone else set()
    groups: dict[tuple[float, bool], list[torch.nn.Parameter]] = {}
    for name, parameter in denoiser.named_parameters():
        decays = parameter.ndim >= 2 and not name.startswith(("token.", "position.", "condition.length."))
        factor = 1.0 if name in pretrained else config.new_rate
        if name.startswith("condition.") and config.condition_rate is not None:
            factor = config.condition_rate
        groups.setdefault((factor, decays), []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "lr": config.learning_rate * factor,
                "factor": factor,
                "weight_decay": config.weight_decay if decays else 0.0,
            }
            for (factor, decays), parameters in sorted(groups.items(), key=lambda item: item[0])
        ],
        betas=(0.9, config.beta2),
        fused=True,
    )


def _pretrained_names(denoiser: Denoiser) -> set[str]:
    """What a backbone brings: embeddings, blocks and the norms around them."""
    inherited = ("token.", "position.", "input_norm.", "blocks.", "output_norm.")
    return {name for name, _ in denoiser.named_parameters() if name.startswith(inherited)}


class Rates(Protocol):
    """What a configuration says of its learning rate."""

    @property
    def learning_rate(self) -> float:
        """At its peak."""

    @property
    def warmup(self) -> int:
        """Steps until the peak."""

    @property
    def hold(self) -> float:
        """Share of the run at the peak."""

    @property
    def decay(self) -> str:
        """cosine or linear."""


def rate_factor(config: Rates, step: int, progress: float) -> float:
    """The rate relative to its peak: linear warm-up, a plateau, then down to zero. progress: 0 to 1."""
    warm = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    falling = max(0.0, progress - config.hold) / (1.0 - config.hold)  # 0 to 1
    if config.decay == "cosine":
        return warm * 0.5 * (1.0 + math.cos(math.pi * min(falling, 1.0)))
    return warm * max(0.0, 1.0 - falling)


def set_rate(optimiser: torch.optim.Optimizer, config: Rates, factor: float) -> None:
    """Apply the factor to every group."""
    for group in optimiser.param_groups:
        group["lr"] = config.learning_rate * group["factor"] * factor
