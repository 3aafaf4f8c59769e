"""Stage 2: collected texts into shards of token ids and vectors, for one encoder.

A shard is made of `shard_size` consecutive collected texts and depends on nothing but them, the
settings, and which texts came before (for duplicates): so a run that was killed makes the shards that
are missing, and they are the ones that an uninterrupted run would have made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unembed.data.build_shard import EncodeContext, FirstSeen, build_shard
from unembed.data.collected import CollectedTexts
from unembed.data.config import EncodeConfig
from unembed.data.keyset import KeySet
from unembed.data.manifest import (
    MANIFEST_NAME,
    FileEntry,
    PreparedManifest,
    ShardEntry,
    TokenizerEntry,
    write_manifest,
)
from unembed.data.normalise import NORMALISATION_VERSION
from unembed.data.prepared import TOKENIZER_NAME, PreparedData
from unembed.data.shard import finished_shard, shard_keys, shard_name, write_shard
from unembed.data.split import SPLITS
from unembed.data.target_tokenizer import choose_tokenizer
from unembed.encoders.base import Encoder
from unembed.errors import DataError
from unembed.progress import Progress, progress_bar
from unembed.storage import atomic_write, digest_bytes, folder_lock, settle_plan
from unembed.text import SPACING_VERSION


def encode(
    config: EncodeConfig,
    texts: Path,
    output: Path,
    *,
    encoder: Encoder | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    quiet: bool = True,
    make: MakeShards | None = None,
) -> PreparedData:
    """Encode the collected `texts` into `output`, or resume an encoding that was interrupted.

    An `encoder` that is given stands in for the one that the configuration names. A folder that was
    started with another encoder, tokenizer, text or setting is refused (MismatchError). `make` makes the
    missing shards: one after the other in this process, unless something else is given.
    """
    collected = CollectedTexts.open(texts)
    if encoder is None:
        from unembed.encoders import load_encoder

        encoder = load_encoder(config.encoder, device=device, trust_remote_code=trust_remote_code)
    context = EncodeContext.of(config, encoder, choose_tokenizer(config.tokenizer, encoder), collected)
    tokenizer_json = context.tokenizer.to_str(pretty=False).encode()
    with folder_lock(output):
        settle_plan(output, _plan(config, encoder, digest_bytes(tokenizer_json), collected))
        _write_once(output / TOKENIZER_NAME, tokenizer_json)
        shards = _all_shards(ShardWork(context, collected, output), make or shards_here, quiet=quiet)
        manifest = _manifest(context, collected, shards, tokenizer_json)
        if not (output / MANIFEST_NAME).exists():
            write_manifest(output, manifest)
        return PreparedData.open(output)


def _plan(
    config: EncodeConfig, encoder: Encoder, tokenizer_digest: str, texts: CollectedTexts
) -> dict[str, Any]:
    info = encoder.info
    # Folders that were begun before there was a choice have no such setting.
    unsaid = {"precision"} if config.precision == "fp32" else set()
    return {
        "kind": "prepared",
        # Names and paths can change while the weights stay the same; the digest decides.
        "encoder": {
            "digest": info.digest,
            "dimension": info.dimension,
            "pooling": info.pooling,
            "max_tokens": info.max_tokens,
            "normalised": info.normalised,
        },
        "tokenizer": tokenizer_digest,
        "texts": texts.digest,
        **config.model_dump(mode="json", exclude={"encoder", "tokenizer"} | unsaid),
        "normalisation": NORMALISATION_VERSION,
        "spacing": SPACING_VERSION,
    }


@dataclass(frozen=True)
class ShardWork:
    """Shards to make: of which texts, how, and where."""

    context: EncodeContext
    texts: CollectedTexts
    output: Path

    @property
    def names(self) -> list[str]:
        return [shard_name(index) for index in range(-(-len(self.texts) // self.context.config.shard_size))]

    def block(self, index: int) -> tuple[list[tuple[str, str]], int]:
        """The texts of a shard, and the number of the first."""
        size = self.context.config.shard_size
        return self.texts.read(index * size, size), index * size

    def make(self, index: int, first_seen: FirstSeen, progress: Progress) -> ShardEntry:
        """Build one shard and write it."""
        block, start = self.block(index)
        name = shard_name(index)
        built = build_shard(self.context, name, block, start, first_seen, progress)
        return write_shard(self.output, name, built.arrays, **built.record)


# Given the work and the shards that are there (None: missing), the shards that are all there.
MakeShards = Callable[[ShardWork, list[ShardEntry | None], Progress], list[ShardEntry]]


def shards_here(work: ShardWork, entries: list[ShardEntry | None], progress: Progress) -> list[ShardEntry]:
    """One shard after the other; of each the keys are remembered, for duplicates."""
    seen = KeySet()
    shards = []
    for index, finished in enumerate(entries):
        if finished:
            seen.add(shard_keys(work.output, finished))
        shards.append(finished or work.make(index, seen.add, progress))
    return shards


def _all_shards(work: ShardWork, make: MakeShards, *, quiet: bool) -> list[ShardEntry]:
    entries = [finished_shard(work.output, name) for name in work.names]
    done = sum(entry.texts for entry in entries if entry)
    if None in entries:
        # What is not whole must not look whole.
        (work.output / MANIFEST_NAME).unlink(missing_ok=True)
    with progress_bar("Encoding", total=len(work.texts), unit="texts", done=done, quiet=quiet) as progress:
        return make(work, entries, progress)


def _manifest(
    context: EncodeContext, texts: CollectedTexts, shards: list[ShardEntry], tokenizer_json: bytes
) -> PreparedManifest:
    """What the shards hold together; an error where that is nothing."""
    dropped: Counter[str] = Counter()
    for shard in shards:
        dropped.update(shard.dropped)
    counts = {split: sum(shard.counts[split] for shard in shards) for split in SPLITS}
    if not sum(counts.values()):
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items())
        raise DataError(
            f"None of the {len(texts):,} texts is left ({reasons}).",
            hint="Check --min-tokens, --max-tokens and the tokenizer.",
        )
    config, digest = context.config, digest_bytes(tokenizer_json)
    return PreparedManifest(
        counts=counts,
        languages={
            language: {
                split: sum(shard.languages.get(language, {}).get(split, 0) for shard in shards)
                for split in SPLITS
            }
            for language in context.languages
        },
        dropped=dict(sorted(dropped.items())),
        realigned=sum(shard.realigned for shard in shards),
        encoder=context.encoder.info,
        tokenizer=TokenizerEntry(
            name=config.tokenizer,
            digest=digest,
            vocabulary=context.vocabulary,
            pad_id=context.pad_id,
        ),
        seed=texts.manifest.seed,
        normalisation=NORMALISATION_VERSION,
        texts=texts.digest,
        tokenizer_file=FileEntry(name=TOKENIZER_NAME, bytes=len(tokenizer_json), sha256=digest),
        shards=tuple(shards),
        **config.model_dump(
            include={"seq_len", "min_tokens", "max_tokens", "validation_share", "test_share", "precision"}
        ),
    )


def _write_once(path: Path, data: bytes) -> None:
    if not path.exists() or path.stat().st_size != len(data):
        with atomic_write(path) as file:
            file.write(data)
