"""Noise schedules: the survival probability `alpha(t)` and the weight of the bound at `t`.

Equation (2) masks each token with probability `1 - alpha(t)`. The continuous-time bound, equation
(4), weighs the cross-entropy at `t` with `-alpha'(t) / (1 - alpha(t))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from unembed.errors import UsageError


class NoiseSchedule(Protocol):
    """`alpha` falls from 1 at t = 0; `weight` is what makes equation (4) a bound."""

    def alpha(self, t: Tensor) -> Tensor: ...

    def weight(self, t: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Linear:
    """`alpha = 1 - t`, weight `1 / t`: every mask ratio is equally likely. MDLM calls it log-linear."""

    def alpha(self, t: Tensor) -> Tensor:
        return 1.0 - t

    def weight(self, t: Tensor) -> Tensor:
        return 1.0 / t


@dataclass(frozen=True)
class Exponential:
    """`alpha = exp(-rate t)`, weight `rate / (exp(rate t) - 1)`: most of the time is spent heavily masked.

    `alpha(1) = exp(-rate)` is not zero, so the bound over [0, 1] leaves out what the few surviving
    tokens at t = 1 say: `exp(-rate)` of each token, 0.7 % at the paper's rate of 5.
    """

    rate: float = 5.0

    def alpha(self, t: Tensor) -> Tensor:
        return torch.exp(-self.rate * t)

    def weight(self, t: Tensor) -> Tensor:
        return self.rate / torch.expm1(self.rate * t)


@dataclass(frozen=True)
class Paper(Exponential):
    """The paper's combination: the exponential schedule, with the linear schedule's weight `1 / t`.

    It is not a bound on the likelihood. It is here so that the paper's runs can be repeated.
    """

    def weight(self, t: Tensor) -> Tensor:
        return 1.0 / t


SCHEDULES: dict[str, NoiseSchedule] = {
    "linear": Linear(),
    "exponential": Exponential(),
    "paper": Paper(),
}


def schedule_named(name: str) -> NoiseSchedule:
    """The schedule of that name, or an error that lists the names."""
    if name not in SCHEDULES:
        raise UsageError(
            f"There is no noise schedule '{name}'.", hint=f"Choose one of: {', '.join(SCHEDULES)}."
        )
    return SCHEDULES[name]
