"""The arms of an evaluation: every way in which each text is attacked, and every floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from unembed.decode.registry import DEFAULT
from unembed.evaluation.config import EvaluateConfig

GUIDED = "guided"
Kind = Literal["model", "random", "shuffled", "nearest", "original", "denoising"]
FLOORS: dict[Kind, str] = {
    "random": "Random tokens",
    "shuffled": "Shuffled vector",
    "nearest": "Nearest training text",
}
ORIGINAL = "Original text"


@dataclass(frozen=True)
class Arm:
    """One way to make a text out of a vector; each sample gets one row an arm."""

    kind: Kind
    target: int  # which model and data
    strategy: str = ""
    steps: int | None = None
    remask: float | None = None
    noise: float = 0.0
    ratio: float | None = None  # of denoising accuracy
    calls: int | None = None  # of the encoder that guides; None: the strategy's own number, or no such

    @property
    def guided(self) -> bool:
        """Whether an encoder is at hand."""
        return self.strategy == GUIDED

    @property
    def name(self) -> str:
        """What its rows are filed under: unique in a run."""
        parts = [f"{self.target}", self.strategy or self.kind]
        if self.kind == "shuffled":
            parts.append("shuffled")
        parts += [
            f"{label}={value}" if isinstance(value, int) else f"{label}={value:g}"
            for label, value in (
                ("calls", self.calls),
                ("remask", self.remask),
                ("noise", self.noise or None),
                ("r", self.ratio),
            )
            if value is not None
        ]
        return "/".join(parts)

    def dump(self) -> dict[str, Any]:
        """For the manifest."""
        fields = asdict(self)
        if self.calls is None:
            del fields["calls"]
        return {"name": self.name, **fields}


@dataclass(frozen=True)
class Plan:
    """The arms, and which table shows which of them."""

    base: Arm
    strategies: tuple[Arm, ...]
    remask: tuple[Arm, ...]
    noise: tuple[Arm, ...]
    denoising: tuple[Arm, ...]
    checkpoints: tuple[Arm, ...]
    models: tuple[Arm, ...]
    floors: tuple[Arm, ...]
    calls: tuple[Arm, ...] = ()  # one search, read at these numbers of encoder calls, the largest last

    @property
    def guided(self) -> bool:
        """Whether any arm has an encoder at hand."""
        return any(arm.guided for arm in self.arms)

    def read_off(self, arm: Arm) -> tuple[Arm, ...]:
        """The arms that this one's run gives: itself, and those that are the same search, cut short."""
        return self.calls if arm in self.calls else (arm,)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All of them once, those of one model together."""
        every = (
            self.base, *self.floors, *self.strategies, *self.remask, *self.noise, *self.denoising,
            *self.checkpoints, *self.models, *self.calls,
        )  # fmt: skip
        return tuple(sorted(dict.fromkeys(every), key=lambda arm: arm.target))

    def floors_of(self, target: int) -> tuple[Arm, ...]:
        """The floors that were measured on this target, or else the base's."""
        own = tuple(arm for arm in self.floors if arm.target == target)
        return own or tuple(arm for arm in self.floors if arm.target == self.base.target)


def make_plan(
    config: EvaluateConfig, *, base: int, checkpoints: Sequence[int] = (), models: Sequence[int] = ()
) -> Plan:
    """The arms of a configuration; targets are given by number."""

    def attack(target: int = base, **changes: Any) -> Arm:
        settings = {"strategy": config.strategy, "steps": config.steps, **changes}
        if settings["strategy"] == GUIDED:
            settings.setdefault("calls", config.budget)
        return Arm("model", target, **settings)

    # Guided by somebody else's vector it finds somebody else's text; the floor is the model alone.
    alone = DEFAULT if config.strategy == GUIDED else config.strategy
    floors: list[Arm] = []
    for target in dict.fromkeys((base, *models)):
        if config.language_model:
            floors.append(Arm("original", target))
        if config.floors:
            floors += [
                Arm("random", target),
                Arm("shuffled", target, strategy=alone, steps=config.steps),
                Arm("nearest", target),
            ]
    return Plan(
        base=attack(),
        strategies=tuple(attack(strategy=name) for name in config.strategies),
        remask=tuple(attack(strategy="euler-remask", remask=share) for share in config.remask),
        noise=tuple(attack(noise=sigma) for sigma in config.noise),
        denoising=tuple(Arm("denoising", base, ratio=ratio) for ratio in config.denoising),
        checkpoints=tuple(attack(target) for target in checkpoints),
        models=tuple(attack(target) for target in models),
        floors=tuple(floors),
        calls=tuple(attack(strategy=GUIDED, calls=calls) for calls in config.encoder_calls),
    )
