"""What a defence is: vectors in, what a store then holds out, and a description of what is secret."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unembed.progress import Progress

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class DefenceInfo:
    """What a method is, before any of its parameters is chosen."""

    name: str  # what make_defence() takes: "gaussian"
    title: str  # for tables: "Gaussian noise"
    strength: str | None  # the parameter that is its strength: "sigma"; None: it has none
    strengths: tuple[float, ...]  # the strengths of a curve, weak to strong
    secret: str | None  # what of it is secret: "the permutation"; None: the attacker can know all of it
    random: bool  # the same vector defended with two seeds differs; False: deterministic once fitted
    queries_too: bool  # a query must be defended as documents are, or the two cannot be compared
    needs_fit: bool  # it learns something from vectors, or draws a secret, before it can be applied
    source: str  # the publication or convention that it follows


@runtime_checkable
class Defence(Protocol):
    """One method with its parameters chosen. The contract test says what that includes.

    Vectors may have any length; a row with NaN or infinity is refused.
    """

    @property
    def info(self) -> DefenceInfo:
        """What method this is."""

    @property
    def seed(self) -> int | None:
        """The seed of `fit`."""

    @property
    def fitted_dimension(self) -> int | None:
        """The dimension of the vectors of `fit`."""

    @property
    def digest(self) -> str:
        """Changes with the method, its parameters, and what it learnt and drew."""

    def fit(self, vectors: Floats, *, seed: int, progress: Progress | None = None) -> None:
        """Learn statistics from vectors [N, D], and draw the secret; the same seed draws the same one.

        `progress` is told of the steps of a training.
        """

    def apply(self, vectors: Floats, *, seed: int = 0) -> Floats:  # [N, D] -> [N, D']
        """The vectors as the store then holds them, codes decoded to float32.

        A row's noise depends on the seed and the row's own numbers: not on its batch, nor on its position.
        """

    def query(self, vectors: Floats) -> Floats:  # [N, D] -> [N, D']
        """What queries' vectors become, to be compared with defended ones."""

    def dimension(self, dimension: int) -> int:
        """D' of vectors of D numbers."""

    def bytes_per_vector(self, dimension: int) -> float:
        """What is left to store of a vector of D numbers."""

    def describe(self) -> dict[str, float | int | str]:
        """Its parameters. Noise also in units that compare: `noise_per_dimension` (standard deviation of each
        number) and `noise_relative_to_norm` (root mean square length of the noise over that of the vectors).
        `epsilon` and `delta` where it has them. Some are known only after `fit`.
        """

    def save(self, folder: Path) -> None:
        """Write it with what it learnt and drew: `saved_defence.load_defence` reads it."""
