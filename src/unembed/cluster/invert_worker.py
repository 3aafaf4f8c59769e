"""A worker that inverts: it reads its rows, calls its `Inverter`, and writes a part."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from typing import Any

from unembed.cluster.part_folder import PartFolder, PartRecord, part_name
from unembed.cluster.run_jobs import Answer, Job
from unembed.compute.precision import choose_precision
from unembed.errors import MismatchError
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter
from unembed.storage import digest_bytes
from unembed.vectors.identity import result_identity
from unembed.vectors.result_table import write_table
from unembed.vectors.results import as_row
from unembed.vectors.vector_dataset import VectorDataset

GUIDED = "guided"


class InvertWorker:
    """Settings: model, device, trust_remote_code, config, dataset, output, suffix, identity."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._inverter = load_inverter(settings)
        self._config = InvertConfig(**settings["config"])
        self._data = VectorDataset.model_validate(settings["dataset"])
        self._folder = PartFolder(settings["output"])
        self._suffix: str = settings["suffix"]
        refuse_other_model(self._inverter, self._config, settings["identity"])

    def __call__(self, job: Job) -> Answer:
        """Rows `start` to `start + count` as part `number`; without a number they are only timed."""
        began = time.perf_counter()
        rows = self._rows(job["start"], job["count"])
        failed = sum("error" in row for row in rows)
        if job["number"] is None:
            return {"rows": len(rows), "seconds": time.perf_counter() - began}
        data = self._encoded(rows)
        record = PartRecord(
            number=job["number"],
            name=part_name(job["number"], self._suffix),
            rows=len(rows),
            failed=failed,
            bytes=len(data),
            sha256=digest_bytes(data),
        )
        self._folder.finish_part(record, data)
        return record.model_dump()

    def _rows(self, start: int, count: int) -> list[dict[str, Any]]:
        read = self._data.read(start, count, self._inverter.dimension)
        found = self._inverter.stream(read.vectors, part_config(self._config, start, count))
        rows = []
        for number, (result, reason) in enumerate(zip(found, read.reasons, strict=True)):
            row = as_row(start + number, result if reason is None else replace(result, error=reason))
            if read.ids is not None:
                index = row.pop("index")
                row = {"index": index, "id": str(read.ids[number]), **row}
            rows.append(row)
        return rows

    def _encoded(self, rows: list[dict[str, Any]]) -> bytes:
        if self._suffix == ".jsonl":
            return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        file = io.BytesIO()
        write_table(file, rows, with_ids=self._data.id_field is not None)
        return file.getvalue()


def load_inverter(settings: dict[str, Any]) -> Inverter:
    """The inverter that a run's settings name."""
    return Inverter.from_pretrained(
        settings["model"], device=settings["device"], trust_remote_code=settings["trust_remote_code"]
    )


def part_config(config: InvertConfig, start: int, count: int) -> InvertConfig:
    """The configuration for some of the rows: no warnings, no Ctrl-C that keeps what a search has."""
    fields: dict[str, Any] = {"check": False, "trace": False, "bad_vectors": "record"}
    if config.strategy == GUIDED:
        fields["options"] = {**config.options, "keep_on_interrupt": False}
    return InvertConfig.of(config.for_rows(start, start + count), fields)


def model_identity(inverter: Inverter, config: InvertConfig, device: str) -> dict[str, Any]:
    """What the texts depend on besides vectors and options; `device` is where the workers compute."""
    guide = inverter.guide(config.encoder) if config.strategy == GUIDED else None
    identity = result_identity(inverter.checkpoint, guide)
    return {**identity, "auto_precision": choose_precision("auto", device)}


def refuse_other_model(inverter: Inverter, config: InvertConfig, wanted: dict[str, Any]) -> None:
    """A node with another model, or a processor that computes otherwise, must not write a part."""
    mine = model_identity(inverter, config, str(inverter.device))
    if config.precision != "auto":
        mine["auto_precision"] = wanted["auto_precision"]
    changed = [name for name in wanted if mine.get(name) != wanted[name]]
    if changed:
        raise MismatchError(
            f"A worker would give other texts: {', '.join(changed)} differ from where the run was started.",
            hint="Install the same model on every node; give --precision fp32 where processors differ.",
        )
