"""Every strategy by name: the decoders, and the search that an encoder guides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unembed.decode.base import Decoder
from unembed.decode.registry import DECODERS, make_named
from unembed.decode.registry import parse_options as _parse
from unembed.decode.registry import strategy_options as _options
from unembed.errors import UsageError


@dataclass(frozen=True)
class Guided:
    """Search with an encoder at hand: propose with the denoiser, keep what comes nearer to the vector."""

    max_encoder_calls: int = 2000  # a vector
    seconds: float = 0.0  # a deadline for the vectors that are searched for together; 0: none
    starts: int = 10  # texts of the plain inversion to begin with
    beam: int = 6  # nearest texts that are edited
    spread: int = 6  # after so many rounds without a nearer text they must be unlike each other
    proposals: int = 2  # random edits of each, a round
    sweep: int = 12  # texts one word or one move away from one of the beam that are embedded, a round
    words: int = 10  # likeliest words that a sweep looks at, at each place
    missing: int = 150  # words that a sweep puts where they fit best: the likeliest that the text lacks
    moves: int = 150  # texts in which a few words stand elsewhere that a sweep looks at
    pairs: int = 12  # of a sweep's most promising texts, so many are also looked at two by two
    merge: int = 10  # texts that make several of the last round's gains at once, at most, a round
    scout: int = 3  # of so many new drafts, one is embedded: the model's surrogate, if it has one, chooses
    steps: int = 4  # forward passes that fill an edit's masks, at most
    temperature: float = 0.8
    overshoot: float = 1.0  # how far beyond the target half of the edits aim
    phrasing: float = 0.0005  # what a nat of a text's phrases is worth in cosine, where texts are edited next
    fluency: float = 0.004  # the same of a unit of the model's score, where no phrases are known
    phrasing_imitated: float = 0.0015  # both where an imitation guides: its cosines say less,
    fluency_imitated: float = 0.007  # and both count
    gradient: int = 0  # substitutions that a white-box encoder's gradient proposes, for each text of the beam
    near_enough: float = 0.99999  # the cosine at which a text counts as found
    patience: int = 20  # rounds without a new text until it gives up
    name: str = "guided"

    def __post_init__(self) -> None:
        for name, least in {
            "max_encoder_calls": 0, "seconds": 0, "starts": 1, "beam": 1, "spread": 0, "proposals": 1,
            "sweep": 0, "words": 1, "missing": 0, "moves": 0, "pairs": 0, "merge": 0, "scout": 1, "steps": 1,
            "temperature": 0, "overshoot": 0, "phrasing": 0, "fluency": 0, "phrasing_imitated": 0,
            "fluency_imitated": 0, "gradient": 0, "patience": 1,
        }.items():  # fmt: skip
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}.")


STRATEGIES: dict[str, Callable[..., Decoder | Guided]] = {**DECODERS, "guided": Guided}


def make_strategy(name: str, **options: Any) -> Decoder | Guided:
    """The strategy of that name; an unknown name or option is an error that lists the known ones."""
    made: Decoder | Guided = make_named(STRATEGIES, name, options)
    return made


def strategy_options(name: str) -> dict[str, type]:
    """A strategy's own options and their types."""
    return _options(name, STRATEGIES)


def parse_options(name: str, typed: Sequence[str]) -> dict[str, Any]:
    """Options as they are typed, NAME=VALUE, in the types that the strategy wants."""
    return _parse(name, typed, STRATEGIES)
