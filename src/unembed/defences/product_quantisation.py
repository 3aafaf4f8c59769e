"""Product quantisation: a byte for every few numbers, the number of the nearest of 256 centroids."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.method import Method, Parameters
from unembed.errors import DataError
from unembed.extras import require

CENTROIDS = 256  # one byte
_SEEDS = 2**31 - 1  # faiss takes an int


class ProductQuantisationParameters(Parameters):
    subvector: int = Field(8, ge=1, le=1024, description="Numbers that share one code of a byte.")


class ProductQuantisation(Method):
    """The vector cut into subvectors, each replaced by the nearest of 256 centroids that FAISS's k-means
    found in the vectors of `fit`. A last subvector that is too short is filled with zeros. Queries stay as
    they are (asymmetric distance).
    """

    info = DefenceInfo(
        name="pq",
        title="Product quantisation",
        strength="subvector",
        strengths=(2, 4, 8, 16, 32),
        secret=None,
        random=False,
        queries_too=False,
        needs_fit=True,
        source="Jegou et al. 2011 (PAMI), asymmetric distance; centroids by FAISS",
    )
    parameters_type = ProductQuantisationParameters
    parameters: ProductQuantisationParameters

    def _learn(self, vectors: Floats, seed: int) -> None:
        if len(vectors) < CENTROIDS:
            raise DataError(
                f"Product quantisation is fitted on at least {CENTROIDS} vectors; these are {len(vectors)}.",
                hint="Give more with --fit-on.",
            )
        faiss = require("faiss", extra="faiss", purpose="Product quantisation")
        cut = self._cut(vectors)  # [N, M, S]
        quantiser = faiss.ProductQuantizer(cut.shape[1] * cut.shape[2], cut.shape[1], 8)
        quantiser.cp.seed = seed % _SEEDS
        quantiser.cp.min_points_per_centroid = 1  # a warning less where there are few vectors
        quantiser.train(np.ascontiguousarray(cut.reshape(len(vectors), -1)))
        centroids = faiss.vector_to_array(quantiser.centroids)
        self.public["centroids"] = centroids.reshape(cut.shape[1], CENTROIDS, cut.shape[2]).copy()

    def _transform(self, vectors: Floats) -> Floats:
        cut, centroids = self._cut(vectors), self.public["centroids"]  # [N, M, S], [M, 256, S]
        out = np.empty_like(cut)
        for number, some in enumerate(centroids):
            far = (some**2).sum(axis=1) - 2 * cut[
                :, number
            ] @ some.T  # [N, 256] squared distances, less |v|^2
            out[:, number] = some[far.argmin(axis=1)]
        return np.asarray(out.reshape(len(vectors), cut.shape[1] * cut.shape[2])[:, : vectors.shape[1]])

    def _cut(self, vectors: Floats) -> Floats:
        size = self.parameters.subvector
        parts = -(-vectors.shape[1] // size)
        filled = np.pad(vectors, ((0, 0), (0, parts * size - vectors.shape[1])))
        return filled.reshape(len(vectors), parts, size)

    def bytes_per_vector(self, dimension: int) -> float:
        return float(-(-dimension // self.parameters.subvector))
