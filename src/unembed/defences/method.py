"""What the methods share: checked vectors, fitted state, and a folder to keep it in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles
from unembed.errors import DataError, UsageError
from unembed.progress import Progress, SilentProgress
from unembed.storage import digest_bytes, digest_json

FLOAT_BYTES = 4


class Parameters(BaseModel):
    """What a method can be told. A field's description is its help."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Method:
    """A defence is what `_transform` makes of a vector, plus what `_noise` draws where it is random.

    A method keeps what it learnt in `public`, and what nobody may see in `secret`.
    """

    info: ClassVar[DefenceInfo]
    parameters_type: ClassVar[type[Parameters]] = Parameters

    def __init__(self, parameters: Any = None) -> None:
        self.parameters = parameters or self.parameters_type()
        self.public: dict[str, NDArray[Any]] = {}
        self.secret: dict[str, NDArray[Any]] = {}
        self.fitted_dimension: int | None = None
        self.mean_norm: float | None = None
        self.seed: int | None = None  # of `fit`
        self._progress: Progress = SilentProgress()

    @property
    def digest(self) -> str:
        arrays = {
            name: digest_bytes(np.ascontiguousarray(array).tobytes())
            for name, array in sorted({**self.public, **self.secret}.items())
        }
        chosen = self.parameters.model_dump(mode="json")
        return digest_json({"method": self.info.name, "parameters": chosen, "arrays": arrays})

    def fit(self, vectors: Floats, *, seed: int, progress: Progress | None = None) -> None:
        vectors = finite_rows(vectors)
        if not len(vectors):
            raise DataError("A defence cannot be fitted on no vectors.")
        self.public, self.secret, self.fitted_dimension = {}, {}, None
        self._progress = progress or SilentProgress()
        self._learn(vectors, seed)
        self.fitted_dimension, self.seed = vectors.shape[1], seed
        self.mean_norm = float(np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1).mean()))

    def apply(self, vectors: Floats, *, seed: int = 0) -> Floats:
        vectors = self._checked(vectors)
        out = self._transform(vectors)  # [N, D']
        if self.info.random:
            out = out + self._noise(vectors, seed)
        return np.asarray(out, np.float32)

    def query(self, vectors: Floats) -> Floats:
        vectors = self._checked(vectors)
        return np.asarray(self._transform(vectors), np.float32) if self.info.queries_too else vectors

    def dimension(self, dimension: int) -> int:
        return dimension

    def bytes_per_vector(self, dimension: int) -> float:
        return float(FLOAT_BYTES * self.dimension(dimension))

    def describe(self) -> dict[str, float | int | str]:
        given = {name: value for name, value in self.parameters.model_dump().items() if value is not None}
        return {"method": self.info.name, **given, **self._units()}

    def save(self, folder: Path) -> None:
        from unembed.defences.saved_defence import save_defence

        save_defence(self, folder)

    def _learn(self, vectors: Floats, seed: int) -> None:
        """Fill `public` and `secret`."""

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        """What is done to documents without noise; to queries too, where they must match."""
        return vectors

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        """What is added to documents.  # [N, D']"""
        raise NotImplementedError

    def _units(self) -> dict[str, float | int | str]:
        """Noise in units that compare, and what else is known."""
        return {}

    def _checked(self, vectors: Floats) -> Floats:
        vectors = finite_rows(vectors)
        if self.info.needs_fit and self.fitted_dimension is None:
            raise UsageError(
                f"The defence '{self.info.name}' must be fitted before it is applied.",
                hint="Call fit(vectors, seed=...) first.",
            )
        known = self.fitted_dimension
        if known is not None and vectors.shape[1] != known:
            raise DataError(
                f"The defence '{self.info.name}' was fitted on vectors of {known} numbers; "
                f"these have {vectors.shape[1]}.",
                hint="Fit it on vectors of the same encoder.",
            )
        return vectors


def finite_rows(vectors: Floats) -> Floats:
    """The vectors as float32 [N, D], or an error that names the first row that is none."""
    array = np.asarray(vectors, np.float32)
    if array.ndim != 2 or not array.shape[1]:
        raise DataError(f"Vectors form a table [N, D], not an array of shape {list(array.shape)}.")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise DataError(
            f"Vector {bad[0]} has NaN or infinity among its numbers.",
            hint=f"{len(bad)} of {len(array)} are not finite: leave them out, or embed their texts again.",
        )
    return array


def lengths(vectors: NDArray[Any]) -> Doubles:
    """The Euclidean length of each row.  # [N, 1]"""
    return np.asarray(np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True))


def with_lengths(vectors: NDArray[Any], wanted: Doubles) -> Doubles:
    """The rows stretched to these lengths; a row of zeros stays."""
    have = lengths(vectors)
    return np.asarray(vectors * (wanted / np.where(have > 0, have, 1)))
