"""Does a folder hold what its manifest says? Digests of every file; on request, every sample's meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.data.manifest import (
    MANIFEST_NAME,
    FileEntry,
    PreparedManifest,
    TextsManifest,
    read_content,
    read_manifest,
    size_problem,
)
from unembed.data.normalise import NORMALISATION_VERSION, text_keys
from unembed.data.prepared import PreparedData, Split
from unembed.data.shard import SHARDS
from unembed.data.split import SPLITS, split_labels
from unembed.progress import Progress, progress_bar
from unembed.storage import digest_file
from unembed.text import tokenise

TEXTS = "texts"

_BLOCK = 4096


@dataclass
class Verification:
    """What was checked, and everything that is wrong."""

    folder: Path
    kind: str
    digest: str
    files: int = 0
    samples: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def report(self, file: Path, problem: str, repair: str) -> None:
        self.problems.append({"file": str(file), "problem": problem, "repair": repair})


def verify(folder: Path | str, *, deep: bool = False, quiet: bool = True) -> Verification:
    """Check every file's digest; with `deep`, also that each sample is what the format says.

    A folder that `unembed prepare` made in one go is checked with the collected texts inside it.
    """
    folder = Path(folder)
    kind = str(read_content(folder).get("kind"))
    manifest: TextsManifest | PreparedManifest
    if kind == "texts":
        manifest, digest = read_manifest(folder, TextsManifest)
    else:
        manifest, digest = read_manifest(folder, PreparedManifest)
    result = Verification(folder, kind, digest)
    total = sum(file.bytes for file in manifest.files)
    with progress_bar("Verifying", total=total, unit="bytes", quiet=quiet) as progress:
        for file in manifest.files:
            _check_file(result, file, progress)
    if isinstance(manifest, PreparedManifest) and (folder / TEXTS / MANIFEST_NAME).exists():
        inner = verify(folder / TEXTS, quiet=quiet)
        result.files += inner.files
        result.problems += inner.problems
    if deep and result.ok and kind == "prepared":
        _check_samples(result, PreparedData.open(folder), quiet=quiet)
    return result


def _check_file(result: Verification, file: FileEntry, progress: Progress) -> None:
    path = result.folder / file.name
    result.files += 1
    problem = size_problem(result.folder, file)
    if problem is None and digest_file(path) != file.sha256:
        problem = "has other contents than when it was written"
    if problem:
        result.report(path, problem, _repair(result, path))
    progress.advance(file.bytes)


def _repair(result: Verification, path: Path) -> str:
    if result.kind == "texts":
        return f"delete {result.folder} and collect again"
    if path.parent.name == SHARDS:
        shard = path.name.partition(".")[0]
        return f"delete {path.parent / shard}.* and run the same 'unembed prepare' again: it makes them again"
    return f"delete {path} and run the same 'unembed prepare' again"


def _check_samples(result: Verification, data: PreparedData, *, quiet: bool) -> None:
    """Tokens and text agree, keys and splits follow from the text, vectors are finite, nothing is twice."""
    manifest = data.manifest
    if manifest.normalisation != NORMALISATION_VERSION:
        result.report(
            data.folder,
            f"has splits by normalisation {manifest.normalisation}, not this version's",
            "prepare again",
        )
        return
    all_keys = []
    total = sum(manifest.counts.values())
    with progress_bar("Reading samples", total=total, unit="samples", quiet=quiet) as progress:
        for code, name in enumerate(SPLITS):
            split = data.split(name)
            for begin in range(0, len(split), _BLOCK):
                chosen = np.arange(begin, min(begin + _BLOCK, len(split)))
                keys = text_keys(split.texts(chosen))
                for problem, good in _checks(data, split, chosen, keys, code):
                    for row in np.flatnonzero(~good)[:3].tolist():
                        sample = f"sample {begin + row} of {name}"
                        result.report(data.folder, f"{sample} {problem}", "prepare again")
                all_keys.append(keys)
                result.samples += len(chosen)
                progress.advance(len(chosen))
    if all_keys and len(np.unique(np.concatenate(all_keys))) != result.samples:
        result.report(data.folder, "holds a text more than once", "prepare again")


def _checks(
    data: PreparedData, split: Split, chosen: NDArray[np.int64], keys: NDArray[np.uint64], code: int
) -> list[tuple[str, NDArray[np.bool_]]]:
    """What can be wrong with some samples of a split, and for which of them it is right.  # [n] each

    keys: [n], those of the samples' texts; code: the split's number
    """
    manifest = data.manifest
    labels = split_labels(keys, validation_share=manifest.validation_share, test_share=manifest.test_share)
    rows = zip(split.tokens(chosen), split.lengths[chosen], strict=True)
    ids = [row[:length].tolist() for row, length in rows]
    read = tokenise(data.tokenizer(), split.texts(chosen))
    return [
        (
            "has tokens that its text does not give",
            np.array([a == b for a, b in zip(ids, read, strict=True)]),
        ),
        ("has a key that is not its text's", split.keys(chosen) == keys),
        ("is on the wrong side of the split", labels == code),
        ("has a vector with NaN or infinity", np.isfinite(split.vectors(chosen)).all(axis=1)),
    ]
