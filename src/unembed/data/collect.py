"""Stage 1: texts from any source into one deduplicated, shuffled folder that every encoder can use.

Reading and ordering are separate. Reading filters, drops duplicates, fills the quotas and spools the
texts in sorted chunks; ordering merges the chunks into the final files. Both resume where they stopped.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from unembed.data.collected import CollectedTexts
from unembed.data.config import CollectConfig
from unembed.data.keyset import KeySet
from unembed.data.manifest import MANIFEST_NAME, TextFile, TextsManifest, size_problem, write_manifest
from unembed.data.normalise import NORMALISATION_VERSION, normalise, text_keys
from unembed.data.sources import Source, parse_source
from unembed.data.spool import Position, Spool, spool_line
from unembed.errors import DataError, UsageError
from unembed.progress import Progress, progress_bar
from unembed.storage import atomic_write, digest_bytes, folder_lock, read_json, settle_plan, write_json

SPOOL = "spool"
MERGED = "merged.json"
# A file of collected texts ends when one of these is reached.
FILE_TEXTS = 65_536
FILE_BYTES = 64 << 20

_BATCH = 1024


def collect(config: CollectConfig, output: Path, *, quiet: bool = True) -> CollectedTexts:
    """Collect the texts of `config` into `output`, or resume a collection that was interrupted.

    What an earlier run of the same configuration finished stays; a folder that was started with
    another configuration, or from sources that have changed since, is refused (MismatchError).
    """
    sources = parse_sources(config)
    plan = _plan(config, sources)
    with folder_lock(output):
        settle_plan(output, plan)
        spool_folder = output / SPOOL
        if not (output / MANIFEST_NAME).exists():
            spool = Spool(spool_folder)
            if not spool.position.finished:
                _read(config, sources, spool, quiet=quiet)
            if not spool.position.kept:
                shutil.rmtree(spool_folder)
                raise _nothing_kept(sources, spool.position)
            files, languages = _order(config, spool, output, quiet=quiet)
            write_manifest(
                output,
                TextsManifest(
                    texts=sum(languages.values()),
                    languages=languages,
                    dropped=dict(sorted(spool.position.dropped.items())),
                    seed=config.seed,
                    normalisation=NORMALISATION_VERSION,
                    settings=plan,
                    files=tuple(files),
                ),
            )
        texts = CollectedTexts.open(output)
        shutil.rmtree(spool_folder, ignore_errors=True)
        return texts


def parse_sources(config: CollectConfig) -> list[Source]:
    """The sources, checked: they exist, and every quota is for a language that one of them has."""
    if not config.source:
        raise UsageError("There is no source.", hint="Give at least one: --source en=corpus.txt.gz")
    sources = [parse_source(spec, field=config.field) for spec in config.source]
    languages = dict.fromkeys(source.language for source in sources)
    for language in config.quotas():
        if language not in languages:
            raise UsageError(
                f"There is a quota for '{language}', but no source in that language.",
                hint=f"Name a source's language before its path: --source {language}=PATH",
            )
    return sources


def _plan(config: CollectConfig, sources: list[Source]) -> dict[str, Any]:
    settings = config.model_dump(mode="json", exclude={"source", "quota", "field"})
    fingerprints = {
        f"source {number} ({source.language}={source.label})": source.fingerprint()
        for number, source in enumerate(sources, start=1)
    }
    return {
        "kind": "texts",
        **settings,
        "quota": config.quotas(),
        "normalisation": NORMALISATION_VERSION,
        "sources": fingerprints,
    }


def _read(config: CollectConfig, sources: list[Source], spool: Spool, *, quiet: bool) -> None:
    position = spool.position.model_copy(deep=True)
    seen = KeySet()
    for keys in spool.text_keys():
        seen.add(keys)
    quotas = {source.language: _quota(config, source.language) for source in sources}
    total = None if None in quotas.values() else sum(quota or 0 for quota in quotas.values())
    done = sum(position.kept.values())
    with progress_bar("Collecting", total=total, unit="texts", done=done, quiet=quiet) as progress:
        for number in range(position.source, len(sources)):
            source = sources[number]
            if number != position.source:
                position.source, position.record = number, 0
            progress.describe(f"Collecting {source.language}")
            # A random choice needs them all; the quota is then applied to the shuffled texts.
            quota = quotas[source.language] if config.pick == "first" else None
            _read_source(config, source, spool, position, seen, quota, progress)
        position.source, position.record, position.finished = len(sources), 0, True
        spool.flush(position)


def _read_source(
    config: CollectConfig,
    source: Source,
    spool: Spool,
    position: Position,
    seen: KeySet,
    quota: int | None,
    progress: Progress,
) -> None:
    language = source.language
    kept = position.kept.get(language, 0)
    texts = source.texts(skip=position.record)
    # Never more than the quota has room for: a text beyond it must not count as seen.
    while room := _BATCH if quota is None else min(_BATCH, quota - kept):
        batch = list(islice(texts, room))
        if not batch:
            break
        fresh, reasons = _filter(config, batch, seen)
        for text, normalised, key in fresh:
            spool.add(spool_line(text, language, normalised=normalised, key=key, seed=config.seed))
        kept += len(fresh)
        if fresh:
            position.kept[language] = kept
        for reason, count in reasons.items():
            position.dropped[reason] = position.dropped.get(reason, 0) + count
        position.record += len(batch)
        progress.advance(len(fresh))
        if spool.is_full:
            spool.flush(position)


def _filter(
    config: CollectConfig, batch: list[str], seen: KeySet
) -> tuple[list[tuple[str, str, int]], Counter[str]]:
    """The texts to keep, each with its normalised form and key; and why the others are not."""
    reasons: Counter[str] = Counter()
    candidates = []
    for raw in batch:
        text = clean(raw)
        if not text:
            reasons["empty"] += 1
        elif len(text) < config.min_chars:
            reasons["too_short"] += 1
        elif config.max_chars is not None and len(text) > config.max_chars:
            reasons["too_long"] += 1
        else:
            candidates.append(text)
    keys = text_keys(candidates)
    new = seen.add(keys)
    if duplicates := len(candidates) - int(new.sum()):
        reasons["duplicate"] += duplicates
    chosen = zip(candidates, keys.tolist(), new.tolist(), strict=True)
    return [(text, normalise(text), key) for text, key, is_new in chosen if is_new], reasons


def clean(text: str) -> str:
    """The text without outer white space; half of a surrogate pair becomes U+FFFD, as files need it."""
    text = text.strip()
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _quota(config: CollectConfig, language: str) -> int | None:
    return config.quotas().get(language, config.limit)


def _order(
    config: CollectConfig, spool: Spool, output: Path, *, quiet: bool
) -> tuple[list[TextFile], dict[str, int]]:
    """Merge the chunks into the final files; those that an earlier run wrote are passed over."""
    journal = spool.folder / MERGED
    files = [TextFile.model_validate(entry) for entry in read_json(journal)] if journal.exists() else []
    while files and size_problem(output, files[-1]):
        files.pop()
    languages: Counter[str] = Counter()
    records = _choose(config, spool.merged(), languages)
    total = sum(
        kept if config.pick == "first" else min(kept, _quota(config, language) or kept)
        for language, kept in spool.position.kept.items()
    )
    done = sum(1 for _ in islice(records, sum(file.texts for file in files)))
    with progress_bar("Ordering", total=total, unit="texts", done=done, quiet=quiet) as progress:
        while lines := _next_file(records):
            name = f"texts-{len(files):05d}.jsonl.gz"
            data = _gzip(b"".join(lines))
            with atomic_write(output / name) as file:
                file.write(data)
            files.append(TextFile(name=name, bytes=len(data), sha256=digest_bytes(data), texts=len(lines)))
            write_json(journal, [entry.model_dump(mode="json") for entry in files])
            progress.advance(len(lines))
    return files, dict(sorted(languages.items()))


def _choose(config: CollectConfig, lines: Iterator[bytes], languages: Counter[str]) -> Iterator[bytes]:
    """The records that stay, counted by language: all, or the first of the random order up to a quota."""
    for line in lines:
        language = json.loads(line)["lang"]
        quota = _quota(config, language)
        if quota is None or languages[language] < quota:
            languages[language] += 1
            yield line


def _next_file(records: Iterator[bytes]) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    while len(lines) < FILE_TEXTS and size < FILE_BYTES:
        line = next(records, None)
        if line is None:
            break
        lines.append(line)
        size += len(line)
    return lines


def _gzip(data: bytes) -> bytes:
    """Compressed without name and date, so that equal texts are equal files."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=6) as file:
        file.write(data)
    return buffer.getvalue()


def _nothing_kept(sources: list[Source], position: Position) -> DataError:
    reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in position.dropped.items())
    names = ", ".join(source.label for source in sources)
    return DataError(
        f"No text was kept from {names} ({reasons or 'nothing there'}).",
        hint="Check the file, and --min-chars and --max-chars.",
    )
