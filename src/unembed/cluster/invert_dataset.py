"""A dataset of vectors into texts, part by part: on a cluster, or in this process.

A part is a fixed range of rows, a whole number of the windows that `Inverter.stream` works in. So the bytes
of a part depend on nothing but its vectors and the options: not on who makes it, when, or beside whom.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unembed.cluster.cluster_config import ClusterConfig, everywhere
from unembed.cluster.invert_worker import InvertWorker, load_inverter, model_identity
from unembed.cluster.part_folder import PartFolder, PartRecord
from unembed.cluster.ray_session import actors_that_fit, ray_session
from unembed.cluster.run_jobs import Job, run_jobs
from unembed.cluster.throughput import Throughput, expected
from unembed.errors import DataError, UsageError
from unembed.invert_config import InvertConfig
from unembed.inverter import WINDOW, Inverter
from unembed.progress import Progress, progress_bar
from unembed.vectors.dataset_rows import NO_VECTOR, Rows
from unembed.vectors.plausibility import PlausibilityCheck, unusable
from unembed.vectors.results import JSON_LINES, PARQUET, ResultFile
from unembed.vectors.vector_dataset import open_dataset

PART_ROWS = 4096
LOOK = 256  # rows that are looked at before anything is computed
SAMPLE = 512  # rows that a dry run inverts
PARTS = ".parts"
NO_OUTPUT = (".json", ".csv", ".tsv", ".txt", ".npy", ".gz")  # somebody means a file
# What does not change a text: the batch only groups rows, and the folder's plan says how.
NOT_IDENTITY = {"batch_size", "trace", "check", "bad_vectors"}


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    output: str
    rows: int
    failed: int
    earlier: int  # rows that were there already
    throughput: Throughput  # of the rows that this run made


class DatasetInversion:
    """One run: everything that is known before a vector is inverted."""

    def __init__(
        self,
        source: str,
        output: str | None,
        config: InvertConfig,
        cluster: ClusterConfig,
        *,
        model: str | None = None,
        device: str = "cpu",
        field: str | None = None,
        id_field: str | None = None,
        part_rows: int = PART_ROWS,
        trust_remote_code: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.config, self.cluster = config, cluster
        self.output = output = output or ""  # a dry run needs none
        # Only the workers need the device; whoever hands out the work may have none.
        mine = {"model": everywhere(model), "device": "cpu", "trust_remote_code": trust_remote_code}
        inverter = load_inverter(mine)
        if config.lengths is not None:
            inverter.check_lengths(config.lengths)
        self._together = WINDOW * config.batch_size
        self._size = -(-part_rows // self._together) * self._together
        self.data = open_dataset(source, field=field, id_field=id_field, step=self._size)
        self._look(inverter, warn)
        self.identity = model_identity(inverter, config, device)
        self.one_file = is_one_file(output)
        self._parts = PartFolder(f"{output}{PARTS}" if self.one_file else output)
        self.settings = {
            **mine,
            "device": device,
            "config": {**config.model_dump(mode="json"), "encoder": everywhere(config.encoder)},
            "dataset": self.data.model_dump(mode="json"),
            "output": str(Path(self._parts.address).resolve()) if "://" not in output else output,
            "suffix": ".jsonl" if self.one_file else ".parquet",
            "identity": self.identity,
        }

    @property
    def plan(self) -> dict[str, Any]:
        """Everything that the rows depend on, and how they are cut into parts."""
        return {
            "kind": "inverted",
            **self.about,
            "batch_size": self.config.batch_size,
            "part_rows": self._size,
        }

    @property
    def about(self) -> dict[str, Any]:
        """What the texts depend on: the same that one machine compares before it resumes a file."""
        fixed = self.config.model_dump(mode="json", exclude=NOT_IDENTITY)
        whole = self.data.files[0].identity if len(self.data.files) == 1 else self.data.identity
        named = {} if self.data.id_field is None else {"id_field": self.data.id_field}
        return {**fixed, **self.identity, "vectors": whole, "field": self.data.field, **named}

    def run(self, *, quiet: bool = True) -> Outcome:
        """Make the parts that are missing, then the file or the manifest."""
        if not self.one_file:
            with self._parts.held(self.plan):
                records, outcome = self._make(quiet=quiet)
                self._parts.write_manifest(self.plan, records)
            return outcome
        with ResultFile(Path(self.output), self.about, together=self._together) as file:
            if file.complete:
                return Outcome(self.output, file.done, file.failed, file.done, Throughput.of(0, 0.0, None))
            with self._parts.held(self.plan):
                records, outcome = self._make(quiet=quiet)
            file.gather((self._parts.read(one.name) for one in records), outcome.failed)
            file.finish()
        shutil.rmtree(self._parts.address, ignore_errors=True)  # what the file was gathered from
        return outcome

    def forecast(self) -> Throughput:
        """What a run would take: from the first rows, inverted by one worker and timed the second time."""
        count = min(SAMPLE, self.data.rows)
        jobs = [{"number": None, "start": 0, "count": number} for number in (min(8, count), count)]
        with ray_session(self.cluster) as ray:
            workers = actors_that_fit(ray, self.cluster)
            one = self.cluster.model_copy(update={"actors": 1})
            *_, timed = run_jobs(InvertWorker, self.settings, jobs, one)
        return expected(
            self.data.rows, timed["seconds"] / timed["rows"], workers, self.cluster.price_per_hour
        )

    def _look(self, inverter: Inverter, warn: Callable[[str], None] | None) -> None:
        """At the first rows: the wrong model is an error now, not a hundred million rows that say so."""
        rows: Rows = self.data.read(0, min(LOOK, self.data.rows), inverter.dimension)
        if None not in rows.reasons:
            why = next((one for one in rows.reasons if one != NO_VECTOR), NO_VECTOR)
            raise DataError(
                f"None of the first {len(rows.reasons)} rows of {self.data.name} fits: {why}",
                hint="Use the model that was trained for the encoder which made these vectors, or adapt one: "
                "unembed adapt --help",
            )
        usable = [number for number, reason in enumerate(unusable(rows.vectors)) if reason is None]
        if warn is not None and self.config.check:
            complaint = PlausibilityCheck(inverter.checkpoint)(rows.vectors[usable])
            if complaint is not None:
                warn(complaint)

    def jobs(self) -> list[Job]:
        """One per part."""
        starts = range(0, self.data.rows, self._size)
        return [
            {"number": number, "start": start, "count": min(self._size, self.data.rows - start)}
            for number, start in enumerate(starts)
        ]

    def _make(self, *, quiet: bool) -> tuple[list[PartRecord], Outcome]:
        """Every part that has no record yet; those that have one are kept."""
        jobs, done = self.jobs(), self._parts.finished()
        earlier = sum(one.rows for one in done.values())
        missing = [job for job in jobs if job["number"] not in done]
        began = time.perf_counter()
        with progress_bar(
            "Inverting", total=self.data.rows, unit="texts", done=earlier, quiet=quiet
        ) as progress:
            for record in self._answers(missing, progress):
                done[record.number] = record
        seconds = time.perf_counter() - began
        records = [done[job["number"]] for job in jobs]
        rows = sum(one.rows for one in records)
        spent = Throughput.of(rows - earlier, seconds, self.cluster.price_per_hour)
        return records, Outcome(self.output, rows, sum(one.failed for one in records), earlier, spent)

    def _answers(self, jobs: list[Job], progress: Progress) -> Iterator[PartRecord]:
        for answer in run_jobs(InvertWorker, self.settings, jobs, self.cluster):
            record = PartRecord.model_validate(answer)
            progress.advance(record.rows)
            yield record


def is_one_file(output: str) -> bool:
    """Whether an output is a file, as on one machine; anything else is a folder of parts."""
    suffix = Path(output).suffix.lower()
    if suffix in NO_OUTPUT:
        raise UsageError(
            f"{output}: results are written as .jsonl or .parquet, or as a folder of parts.",
            hint="Choose an --output that ends in .jsonl or .parquet, or the name of a folder.",
        )
    if suffix not in (*JSON_LINES, *PARQUET):
        return False
    if "://" in output:
        raise UsageError(
            f"{output}: one file is written on this machine only.", hint="Give a folder's address instead."
        )
    return not Path(output).is_dir()
