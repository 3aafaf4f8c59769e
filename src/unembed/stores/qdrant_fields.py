"""What a Qdrant collection's configuration says about its vectors: the same for a folder and for a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unembed.stores.base import VectorField
from unembed.stores.file_layout import MULTI

_METRICS = {"Cosine": "cosine", "Euclid": "l2", "Dot": "dot", "Manhattan": "l1"}
SPARSE = "they are sparse: weights of words, not an encoder's vector"


def vector_fields(
    vectors: Mapping[str, Any] | None, sparse: Mapping[str, Any] | None
) -> tuple[VectorField, ...]:
    """The fields of `vectors` (one unnamed vector, or several by name) and of `sparse_vectors`."""
    vectors = vectors or {}
    named = {"": vectors} if "size" in vectors and "distance" in vectors else vectors
    dense = [
        VectorField(
            name,
            int(params["size"]),
            params.get("datatype") or "float32",
            _METRICS.get(params["distance"]),
            obstacle=MULTI if params.get("multivector_config") else None,
        )
        for name, params in named.items()
    ]
    rest = [VectorField(name, None, "float32", obstacle=SPARSE) for name in sparse or {}]
    return (*dense, *rest)
