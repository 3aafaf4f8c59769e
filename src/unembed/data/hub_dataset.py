"""Texts from a Hugging Face dataset by streaming: nothing is downloaded beyond what is read.

`c4` and `mc4` are short names for the corpora of the usual experiments; any other dataset goes by its
hub id. The dataset's revision is fixed when a run begins, and a later run reads the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from unembed.data.readers import field_of
from unembed.errors import UnavailableError, UnembedError, UsageError
from unembed.extras import require
from unembed.hub import dataset_revision

_C4 = "allenai/c4"
MC4_LANGUAGES = ("en", "zh", "de", "fr", "ja", "es", "ru", "ko", "ar", "pt")


@dataclass(frozen=True)
class HubDataset:
    """A dataset on the hub, one configuration and split of it."""

    name: str
    config: str | None = None
    split: str = "train"
    data_files: str | None = None
    _memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, spec: str, *, language: str) -> HubDataset:
        """`c4`, `mc4` (of the source's language), or `DATASET[:CONFIG[:SPLIT]]`."""
        name, *rest = spec.split(":")
        if not name or len(rest) > 2:
            raise UsageError(f"'hub:{spec}' is not a dataset.", hint="Write hub:DATASET[:CONFIG[:SPLIT]].")
        config = rest[0] if rest and rest[0] else None
        split = rest[1] if len(rest) == 2 and rest[1] else "train"
        if name == "c4":
            return cls(_C4, config or "en", split)
        if name == "mc4":
            return cls._mc4(config or language, split)
        return cls(name, config, split)

    @classmethod
    def _mc4(cls, language: str, split: str) -> HubDataset:
        if language not in MC4_LANGUAGES:
            raise UsageError(
                f"mC4 is read in {', '.join(MC4_LANGUAGES)}; not in '{language}'.",
                hint="Write the language before the source: --source de=hub:mc4. "
                f"Other languages: --source xx=hub:{_C4}:xx.",
            )
        # The hub's configuration 'en' is C4, not mC4's English, so the files are named themselves.
        part = "" if split == "train" else f"-{split}"
        return cls(_C4, None, "train", data_files=f"multilingual/c4-{language}{part}.tfrecord-*.json.gz")

    @property
    def label(self) -> str:
        return ":".join(part for part in (self.name, self.config, self.data_files) if part)

    def fingerprint(self) -> dict[str, Any]:
        return {
            "dataset": self.name,
            "config": self.config,
            "split": self.split,
            "data_files": self.data_files,
            "revision": self.revision,
        }

    @property
    def revision(self) -> str:
        """The dataset's commit at this moment; asked for once a run."""
        if "revision" not in self._memo:
            try:
                self._memo["revision"] = dataset_revision(self.name)
            except UnavailableError as error:
                raise self._unreachable(error) from error
        return str(self._memo["revision"])

    def texts(self, field: str, *, skip: int = 0) -> Iterator[str]:
        """The texts in the dataset's order, without the first `skip`."""
        datasets = require("datasets", extra="hub-data", purpose="Reading datasets from the hub")
        try:
            stream = datasets.load_dataset(
                self.name,
                self.config,
                split=self.split,
                data_files=self.data_files,
                revision=self.revision,
                streaming=True,
            )
            for number, record in enumerate(stream.skip(skip) if skip else stream, start=skip):
                yield field_of(record, field, f"{self.label}, record {number},")
        except UnembedError:
            raise
        except ValueError as error:  # an unknown configuration or split: the library's message lists them
            raise UsageError(f"{self.label}: {error}") from error
        except Exception as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"The dataset {self.label} cannot be read from the hub: {type(error).__name__}: {error}",
            hint="Run the same command again when the hub answers: it continues where it stopped. Without a "
            "connection, give a file instead: --source en=corpus.txt.gz (also JSON lines or Parquet).",
        )
