"""Recovered texts in a file, JSON lines or Parquet, that an interrupted run resumes.

Rows go to `OUTPUT.rows` as JSON lines, in the order of the vectors: the number of whole lines says where
to resume. `OUTPUT.run.json` holds the settings, so that two runs with different settings do not mix, and
in the end the number of rows, inverted and failed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from unembed.decode.result import Inversion
from unembed.errors import DataError, MismatchError, UsageError
from unembed.extras import require
from unembed.storage import atomic_write, file_lock, read_json, write_json
from unembed.vectors.result_table import write_table

JSON_LINES, PARQUET = (".jsonl", ".ndjson"), (".parquet", ".pq")
FLUSH_EVERY = 256
_FAILED = re.compile(rb'\{"index": \d+, "error": ')  # how the row of a failed vector begins


def as_row(index: int, result: Inversion) -> dict[str, Any]:
    """A result as plain data; without the trace and a search's advances, unless they were asked for.

    A vector that could not be inverted has its index and the reason, nothing else.
    """
    if result.error is not None:
        return {"index": index, "error": result.error}
    row = {"index": index, **dataclasses.asdict(result)}
    del row["error"]
    if result.trace is None:
        del row["trace"]
    if result.trace is None or not result.advances:
        del row["advances"]
    return row


class ResultFile:
    """The output of one run, which may take several attempts; one process writes it at a time.

    Rows are made in groups of `together`. An attempt resumes after the last whole group: the next rows are
    batched as in an uninterrupted run, and are the same to the last bit.

    >>> with ResultFile(Path("texts.jsonl"), {"model": "..."}) as file:
    ...     for result in inverter.stream(vectors[file.done :]):
    ...         file.write(result)
    ...     file.finish()
    """

    def __init__(self, output: Path, settings: dict[str, Any], *, together: int = 1) -> None:
        self.output = output
        self._together = together
        self._settings = json.loads(json.dumps(settings))
        self._rows_path = output.with_name(output.name + ".rows")
        self._run = output.with_name(output.name + ".run.json")
        if output.suffix.lower() not in JSON_LINES + PARQUET:
            raise UsageError(
                f"{output.name}: results are written as .jsonl or .parquet.",
                hint="Choose an --output that ends in .jsonl or .parquet.",
            )
        if output.suffix.lower() in PARQUET:  # to learn of it now, not after a million vectors
            require("pyarrow.parquet", extra="parquet", purpose="Writing Parquet")
        self.complete = self._check_earlier()
        self.done = 0  # rows that are written
        self.failed = 0  # of them, those of vectors that could not be inverted
        self._file: IO[bytes] | None = None
        self._lock = ExitStack()

    @property
    def inverted(self) -> int:
        """Rows that hold a text."""
        return self.done - self.failed

    def __enter__(self) -> ResultFile:
        self._lock.enter_context(file_lock(self.output))
        try:
            self._resume()
        except BaseException:
            self._close()
            raise
        return self

    def _resume(self) -> None:
        self.complete = self._check_earlier()  # another run may have finished in the meantime
        if self.complete:
            summary = read_json(self._run)
            self.done, self.failed = int(summary["rows"]), int(summary.get("failed", 0))
            return
        write_json(self._run, {"settings": self._settings, "rows": None})
        self._file = self._rows_path.open("ab+")
        self.done, self.failed = self._mend(self._file)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.close()

    def write(self, result: Inversion) -> None:
        """Add the next vector's result."""
        assert self._file is not None
        row = json.dumps(as_row(self.done, result), ensure_ascii=False)
        self._file.write(row.encode() + b"\n")
        self.done += 1
        self.failed += result.error is not None
        if self.done % FLUSH_EVERY == 0:
            self._file.flush()
            os.fsync(self._file.fileno())

    def gather(self, parts: Iterable[bytes], failed: int) -> None:
        """Take the rows from parts that others wrote, in the order of the vectors, instead of `write`."""
        assert self._file is not None
        self._file.truncate(0)
        self.done, self.failed = 0, failed
        for part in parts:
            self._file.write(part)
            self.done += part.count(b"\n")

    def finish(self) -> None:
        """Turn the rows into the output: every vector has one."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        if self.output.suffix.lower() in PARQUET:
            self._write_parquet()
            self._rows_path.unlink()
        else:
            self._rows_path.replace(self.output)
        totals = {"rows": self.done, "inverted": self.inverted, "failed": self.failed}
        write_json(self._run, {"settings": self._settings, **totals})
        self.complete = True

    def _check_earlier(self) -> bool:
        """Whether the work is done already; an error if what is there was made otherwise."""
        if not self._run.exists():
            for path in (self.output, self._rows_path):
                if path.exists():
                    raise UsageError(
                        f"{path} is there already, and not from an interrupted run.",
                        hint="Remove it or give another --output.",
                    )
            return False
        earlier = read_json(self._run)
        before = earlier.get("settings", {})
        changed = [key for key in self._settings if before.get(key) != self._settings[key]]
        if changed:
            raise MismatchError(
                f"{self.output} was started with other settings: {', '.join(changed)} differ.",
                hint=f"Repeat the earlier command, or remove {self._run.name} and {self._rows_path.name}.",
            )
        return earlier.get("rows") is not None and self.output.exists()

    def _mend(self, file: IO[bytes]) -> tuple[int, int]:
        """Cut off what a kill left half written, a line or a group; count the rows, and the failed ones."""
        file.seek(0)
        rows = failed = size = 0
        counts, whole = (0, 0), 0
        last = b""
        for line in file:
            if not line.endswith(b"\n"):
                break
            rows, size, last = rows + 1, size + len(line), line
            failed += _FAILED.match(line) is not None
            if rows % self._together == 0:
                counts, whole = (rows, failed), size
        if last and json.loads(last).get("index") != rows - 1:
            raise DataError(f"{self._rows_path} is damaged: its rows are not in order.", hint="Remove it.")
        file.truncate(whole)
        file.seek(0, os.SEEK_END)
        return counts

    def _write_parquet(self) -> None:
        with atomic_write(self.output) as file:
            write_table(file, self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        with self._rows_path.open("rb") as file:
            for line in file:
                yield json.loads(line)
