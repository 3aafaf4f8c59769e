"""What tests of audits are made of: rows, small stores, and the type of the fixture that makes cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import toy
from unembed.audit.attack_rows import AttackRow
from unembed.audit.case import Case

STORE = {
    "kind": "file", "address": "notes.jsonl", "collection": None, "count": 100, "vector": "vector",
    "dimension": 16, "dtype": "float32", "metric": None, "text_field": "text",
}  # fmt: skip

MakeCase = Callable[..., Case]


def write_store(path: Path, texts: Sequence[str], *, with_texts: bool = True) -> Path:
    vectors = toy.ToyEncoder(tokenizer=toy.wordpiece()).encode(texts)
    with path.open("w", encoding="utf-8") as file:
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            record = {"id": f"n{number}", "vector": vector.tolist(), **({"text": text} if with_texts else {})}
            file.write(json.dumps(record) + "\n")
    return path


def row(target: int, recovered: str, **fields: object) -> AttackRow:
    """What an attacker made of a target."""
    given = {"attacker": "vectors", "score": -1.0, "seconds": 0.1, **fields}
    return AttackRow(target=target, recovered=recovered, **given)  # type: ignore[arg-type]
