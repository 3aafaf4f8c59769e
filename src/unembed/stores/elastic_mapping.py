"""What an index's mapping says of vectors and texts; Elasticsearch and OpenSearch name them differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unembed.stores.base import VectorField

_TEXTS = ("text", "keyword", "match_only_text", "wildcard")
_METRICS = {
    "cosine": "cosine", "cosinesimil": "cosine", "l2_norm": "l2", "l2": "l2", "dot_product": "dot",
    "max_inner_product": "dot", "innerproduct": "dot",
}  # fmt: skip
_DTYPES = {"float": "float32", "byte": "int8", "bit": "bits", "binary": "bits", "bfloat16": "bfloat16"}
_SEVERAL = "several vectors a row"
_OBSTACLES = {
    "rank_vectors": _SEVERAL,
    "sparse_vector": "sparse vectors",
    "rank_features": "sparse vectors",
    "bits": "bits, not numbers",
}


def fields_of(mapping: Mapping[str, Any]) -> tuple[tuple[VectorField, ...], tuple[str, ...]]:
    """The fields with vectors, and those with texts; nested names have dots."""
    vectors: list[VectorField] = []
    texts: list[str] = []
    for name, field, inside in _walk(mapping.get("properties") or {}, "", nested=False):
        kind = field.get("type", "object")
        if kind in ("dense_vector", "knn_vector"):
            vectors.append(_vector(name, field, _SEVERAL if inside else None))
        elif kind in _OBSTACLES:
            vectors.append(VectorField(name, None, "float32", None, _OBSTACLES[kind]))
        elif kind in _TEXTS and not inside:
            texts.append(name)
    return tuple(vectors), tuple(texts)


def _walk(
    properties: Mapping[str, Any], prefix: str, *, nested: bool
) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    for name, field in properties.items():
        inside = nested or field.get("type") == "nested"
        yield f"{prefix}{name}", field, inside
        yield from _walk(field.get("properties") or {}, f"{prefix}{name}.", nested=inside)


def _vector(name: str, field: Mapping[str, Any], obstacle: str | None) -> VectorField:
    """`dense_vector` (dims, element_type, similarity) or `knn_vector` (dimension, data_type, space_type)."""
    dimension = field.get("dims", field.get("dimension"))
    dtype = _DTYPES.get(field.get("element_type", field.get("data_type", "float")), "float32")
    method = field.get("method") or {}
    metric = field.get("similarity", field.get("space_type", method.get("space_type")))
    return VectorField(
        name,
        None if dimension is None else int(dimension),
        dtype,
        _METRICS.get(str(metric)),
        obstacle or _OBSTACLES.get(dtype),
    )
