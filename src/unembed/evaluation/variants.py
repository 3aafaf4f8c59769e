"""The variants of an evaluation: every way to recover each text, and every floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from unembed.evaluation.config import EvaluateConfig
from unembed.invert_config import DEFAULT_STRATEGY

GUIDED = "guided"
Kind = Literal["model", "random", "shuffled", "nearest", "original", "denoising", "words"]
FLOORS: dict[Kind, str] = {
    "random": "Random tokens",
    "shuffled": "Shuffled vector",
    "nearest": "Nearest training text",
}
ORIGINAL = "Original text"


@dataclass(frozen=True)
class Variant:
    """One way to make a text out of a vector; each sample gets one row per variant."""

    kind: Kind
    target: int  # which model and data
    strategy: str = ""
    steps: int | None = None
    remask: float | None = None
    noise: float = 0.0
    ratio: float | None = None  # of denoising accuracy
    likeliest: int | None = None  # words, of word recall
    calls: int | None = None  # of the encoder that guides; None: the strategy's own number, or no such

    @property
    def guided(self) -> bool:
        """Whether it is a guided search."""
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
                ("k", self.likeliest),
            )
            if value is not None
        ]
        return "/".join(parts)

    def dump(self) -> dict[str, Any]:
        """For the manifest."""
        fields = asdict(self)
        for added_later in ("calls", "likeliest"):
            if fields[added_later] is None:
                del fields[added_later]
        return {"name": self.name, **fields}


@dataclass(frozen=True)
class Plan:
    """The variants, and which table shows which of them."""

    base: Variant
    strategies: tuple[Variant, ...]
    remask: tuple[Variant, ...]
    noise: tuple[Variant, ...]
    denoising: tuple[Variant, ...]
    checkpoints: tuple[Variant, ...]
    models: tuple[Variant, ...]
    floors: tuple[Variant, ...]
    words: tuple[Variant, ...] = ()
    calls: tuple[Variant, ...] = ()  # one search, read at these numbers of encoder calls, the largest last

    @property
    def guided(self) -> bool:
        """Whether any variant is a guided search."""
        return any(variant.guided for variant in self.variants)

    def read_off(self, variant: Variant) -> tuple[Variant, ...]:
        """The variants that this one's run gives: itself, and those that are the same search, cut short."""
        return self.calls if variant in self.calls else (variant,)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them once, those of one model together."""
        every = (
            self.base, *self.floors, *self.strategies, *self.remask, *self.noise, *self.denoising,
            *self.checkpoints, *self.models, *self.words, *self.calls,
        )  # fmt: skip
        return tuple(sorted(dict.fromkeys(every), key=lambda variant: variant.target))

    def floors_of(self, target: int) -> tuple[Variant, ...]:
        """The floors that were measured on this target, or else the base's."""
        own = tuple(variant for variant in self.floors if variant.target == target)
        return own or tuple(variant for variant in self.floors if variant.target == self.base.target)


def make_plan(
    config: EvaluateConfig, *, base: int, checkpoints: Sequence[int] = (), models: Sequence[int] = ()
) -> Plan:
    """The variants of a configuration; targets are given by number."""

    def of_model(target: int = base, **changes: Any) -> Variant:
        settings = {"strategy": config.strategy, "steps": config.steps, **changes}
        if settings["strategy"] == GUIDED:
            settings.setdefault("calls", config.budget)
        return Variant("model", target, **settings)

    # With another text's vector a guided search finds the other text; the floor is the model alone.
    alone = DEFAULT_STRATEGY if config.strategy == GUIDED else config.strategy
    floors: list[Variant] = []
    for target in dict.fromkeys((base, *models)):
        if config.language_model:
            floors.append(Variant("original", target))
        if config.floors:
            floors += [
                Variant("random", target),
                Variant("shuffled", target, strategy=alone, steps=config.steps),
                Variant("nearest", target),
            ]
    return Plan(
        base=of_model(),
        strategies=tuple(of_model(strategy=name) for name in config.strategies),
        remask=tuple(of_model(strategy="euler-remask", remask=share) for share in config.remask),
        noise=tuple(of_model(noise=sigma) for sigma in config.noise),
        denoising=tuple(Variant("denoising", base, ratio=ratio) for ratio in config.denoising),
        checkpoints=tuple(of_model(target) for target in checkpoints),
        models=tuple(of_model(target) for target in models),
        floors=tuple(floors),
        words=tuple(Variant("words", base, likeliest=count) for count in config.words),
        calls=tuple(of_model(strategy=GUIDED, calls=calls) for calls in config.encoder_calls),
    )
