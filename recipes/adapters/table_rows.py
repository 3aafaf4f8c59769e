"""One run of the table: a model on some texts, the vector alone or searched with its encoder; a row each.

A run has a folder: plan.json with everything that its rows depend on, and rows.jsonl, append-only. Rows of
other settings or of another model are refused, never mixed; a kill loses the texts in flight and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from unembed.encoders import Encoder
from unembed.encoders.written_differences import written_differences
from unembed.evaluation.measured_rows import measured_rows
from unembed.evaluation.recovery import Recovery
from unembed.evaluation.rows import ROWS_NAME, Row, RowLog
from unembed.evaluation.samples import Samples
from unembed.invert_config import InversionOptions
from unembed.inverter import Inverter
from unembed.metrics.registry import make_metrics
from unembed.search.settings import GuidedSettings
from unembed.storage import PLAN_NAME, folder_lock, read_json, read_json_rows, settle_plan
from unembed.text import tokenise
from unembed.vectors.identity import result_identity

METRICS = ("token_f1", "exact_match", "rouge_l", "as_written", "ignoring_case")
KIND, FORMAT = "adapter-table", 1
ALONE = "alone"  # the variant without an encoder
TOGETHER = 32  # texts that are inverted at once, and lost by a kill; a search takes one after the other

Vectors = NDArray[np.float32]


class Text(NamedTuple):
    """A text to be measured, and where it stands."""

    kind: str
    number: int  # its line
    text: str


class Run(BaseModel):
    """What is measured: which column of which encoder's line."""

    model_config = ConfigDict(frozen=True)

    encoder: str
    size: int | None = Field(
        description="Pairs that were asked for. None: the base, on its own encoder's vectors."
    )
    minutes: float = Field(0.0, description="Of fine-tuning.")
    calls: tuple[int, ...] = Field((), description="Budgets of a guided search. None: the vector alone.")

    @property
    def name(self) -> str:
        parts = [self.encoder, "native" if self.size is None else f"{self.size}"]
        parts += [f"{self.minutes:g}min"] if self.minutes else []
        parts += [f"guided-{max(self.calls)}"] if self.calls else []
        return "-".join(parts)


def interleaved(held_out: Mapping[str, Sequence[str]], samples: int) -> list[Text]:
    """The first `samples` texts of each kind, the kinds in turn: the first N are of all kinds alike."""
    lines = [
        [Text(kind, row, text) for row, text in enumerate(some[:samples])] for kind, some in held_out.items()
    ]
    return [text for together in zip_longest(*lines) for text in together if text is not None]


def variants(run: Run) -> list[str]:
    return [f"calls={calls}" for calls in run.calls] or [ALONE]


class Measuring:
    """A run with its model loaded."""

    def __init__(self, run: Run, inverter: Inverter, guide: Encoder, folder: Path, *, seed: int = 0) -> None:
        self.run, self.folder = run, folder
        self._inverter, self._guide, self._seed = inverter, guide, seed
        self._metrics = make_metrics(METRICS)
        self._recovery = Recovery(inverter, seed=seed, guide=guide)

    @cached_property
    def plan(self) -> dict[str, Any]:
        """Everything that a row depends on, but its text; and what the table says of the run."""
        checkpoint, guided = self._inverter.checkpoint, bool(self.run.calls)
        search = GuidedSettings().model_dump(mode="json", exclude={"max_encoder_calls"})
        return {
            "kind": KIND,
            "format": FORMAT,
            "run": self.run.model_dump(mode="json"),
            "identity": result_identity(checkpoint, self._guide if guided else None),
            "encoder": self._guide.info.digest,
            "cased": written_differences(self._guide).case,
            "adapter": checkpoint.config.training.get("adapter") if self.run.size is not None else None,
            "fine_tuning": _fine_tuning(self._inverter),
            "metrics": list(METRICS),
            # What a default means can change with the version: such rows are not mixed either.
            "decoding": InversionOptions(seed=self._seed).with_effort().model_dump(mode="json"),
            **({"search": search} if guided else {}),
        }

    def measure(self, texts: Sequence[Text], vectors: Sequence[Vectors]) -> Iterator[int]:
        """Rows for those of the texts that have none yet; yields how many texts are done, now and then.

        vectors: the texts', by the run's encoder.
        """
        with folder_lock(self.folder):
            settle_plan(self.folder, self.plan)
            with RowLog(self.folder / ROWS_NAME) as log:
                there = {_key(row) for row in log.rows}
                left = [row for row, text in enumerate(texts) if not _done(self.run, text, there)]
                step = 1 if self.run.calls else TOGETHER
                for start in range(0, len(left), step):
                    some = left[start : start + step]
                    rows = self._rows([texts[row] for row in some], np.stack([vectors[row] for row in some]))
                    log.append(row for row in rows if _key(row) not in there)
                    yield len(texts) - len(left) + start + len(some)

    def _rows(self, texts: Sequence[Text], vectors: Vectors) -> list[Row]:
        written = [one.text for one in texts]
        samples = Samples(
            np.array([one.number for one in texts]),
            written,
            tokenise(self._inverter.checkpoint.tokenizer, written),
            vectors,
            [one.kind for one in texts],
        )
        if self.run.calls:
            found = self._recovery.texts_within(vectors, None, self.run.calls)
        else:
            found = [self._recovery.texts(vectors, None)]
        return [
            row
            for variant, recovered in zip(variants(self.run), found, strict=True)
            for row in measured_rows(samples, range(len(texts)), variant, recovered, self._metrics)
        ]


def _fine_tuning(inverter: Inverter) -> dict[str, Any] | None:
    adapter = getattr(inverter.checkpoint, "adapter", None)
    tuning = None if adapter is None else adapter.fine_tuning
    return None if tuning is None else tuning.model_dump(mode="json")


def _key(row: Row) -> tuple[str, str, str]:
    return row.variant, row.language, row.target


def _done(run: Run, text: Text, there: set[tuple[str, str, str]]) -> bool:
    return all((variant, text.kind, text.text) in there for variant in variants(run))


def read_run(folder: Path) -> tuple[Run, dict[str, Any], list[Row]]:
    """A run's settings and rows, from its folder alone."""
    plan = read_json(folder / PLAN_NAME)
    path = folder / ROWS_NAME
    return Run.model_validate(plan["run"]), plan, read_json_rows(path, Row)[0] if path.exists() else []
