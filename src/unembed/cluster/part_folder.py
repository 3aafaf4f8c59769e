"""A folder that many workers fill: parts with a record each, a plan before them, a manifest after them.

part-000000.parquet    rows of the first part
part-000000.json       its record: written last, it makes the part count
plan.json              what the rows depend on; only the same run goes on with a folder
manifest.json          every part with rows, bytes and sha256; there when everything is
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unembed.errors import MismatchError
from unembed.storage import PLAN_NAME, atomic_write, differences, digest_bytes, folder_lock, settle_plan
from unembed.vectors.remote_path import Location, file_names, locate

MANIFEST_NAME = "manifest.json"


class PartRecord(BaseModel):
    """One finished part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    name: str
    rows: int
    failed: int = Field(description="Rows whose vector could not be inverted; they say why.")
    bytes: int
    sha256: str


def part_name(number: int, suffix: str) -> str:
    return f"part-{number:06d}{suffix}"


class PartFolder:
    """The folder, local or at an address."""

    def __init__(self, address: str | Path) -> None:
        self.address = str(address)
        self._folder: Location = locate(address)

    @contextmanager
    def held(self, plan: dict[str, Any]) -> Iterator[None]:
        """For one run at a time, of this plan. A remote folder cannot be locked; its plan is compared."""
        if isinstance(self._folder, Path):
            with folder_lock(self._folder):
                settle_plan(self._folder, plan)
                yield
            return
        path = self._folder / PLAN_NAME
        if path.exists():
            changes = differences(json.loads(path.read_bytes()), json.loads(json.dumps(plan)))
            if changes:
                raise MismatchError(
                    f"{self.address} was made with other settings: {'; '.join(changes)}.",
                    hint="Give another output folder; nothing was changed.",
                )
        else:
            path.write_bytes(json.dumps(plan, indent=2).encode())
        yield

    def write(self, name: str, data: bytes) -> None:
        """One file, whole or absent."""
        if not isinstance(self._folder, Path):
            (self._folder / name).write_bytes(data)
            return
        with atomic_write(self._folder / name) as file:
            file.write(data)

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def finish_part(self, record: PartRecord, data: bytes) -> None:
        """The part, then the record that makes it count."""
        self.write(record.name, data)
        self.write(part_name(record.number, ".json"), record.model_dump_json().encode() + b"\n")

    def finished(self) -> dict[int, PartRecord]:
        """The parts that are whole, by number. A record without its part, or cut short, is not one."""
        names = set(file_names(self._folder))
        found = {}
        for name in names:
            if not (name.startswith("part-") and name.endswith(".json")):
                continue
            try:
                record = PartRecord.model_validate_json(self.read(name))
            except ValidationError:
                continue
            if record.name in names:
                found[record.number] = record
        return found

    def write_manifest(self, plan: dict[str, Any], parts: Sequence[PartRecord]) -> None:
        totals = {"rows": sum(one.rows for one in parts), "failed": sum(one.failed for one in parts)}
        listed = [one.model_dump() for one in parts]
        manifest = {
            "plan": digest_bytes(json.dumps(plan, sort_keys=True).encode()),
            **totals,
            "parts": listed,
        }
        self.write(MANIFEST_NAME, json.dumps(manifest, indent=2).encode() + b"\n")
