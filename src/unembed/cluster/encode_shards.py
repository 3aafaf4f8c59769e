"""Shards of training data, made by many workers: the same shards, to the last byte.

Which texts of a shard are duplicates depends on the shards before it. So there are two rounds: workers
tokenise and answer with keys; here the keys are compared, in order; workers then encode what is new.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.cluster.cluster_config import ClusterConfig, everywhere
from unembed.cluster.ray_session import actors_that_fit, ray_session
from unembed.cluster.run_jobs import Answer, Job, in_order, run_jobs
from unembed.cluster.throughput import Throughput, expected
from unembed.data.build_shard import EncodeContext, block_keys, build_shard
from unembed.data.collected import CollectedTexts
from unembed.data.config import EncodeConfig
from unembed.data.encode import ShardWork
from unembed.data.keyset import KeySet
from unembed.data.manifest import ShardEntry
from unembed.data.shard import finished_shard, shard_keys, shard_name
from unembed.data.target_tokenizer import choose_tokenizer
from unembed.encoders.registry import load_encoder
from unembed.errors import MismatchError
from unembed.progress import Progress, SilentProgress

SAMPLE = 512  # texts that a dry run encodes


class ShardWorker:
    """Settings: config, texts, output, device, trust_remote_code, digest (of the encoder)."""

    def __init__(self, settings: dict[str, Any]) -> None:
        config = EncodeConfig(**settings["config"])
        encoder = load_encoder(
            config.encoder, device=settings["device"], trust_remote_code=settings["trust_remote_code"]
        )
        if settings["digest"] not in (None, encoder.info.digest):
            raise MismatchError(
                f"The encoder '{config.encoder}' of a worker has other weights than here.",
                hint="Install the same encoder on every node.",
            )
        texts = CollectedTexts.open(settings["texts"])
        context = EncodeContext.of(config, encoder, choose_tokenizer(config.tokenizer, encoder), texts)
        self._work = ShardWork(context, texts, Path(settings["output"]))

    def __call__(self, job: Job) -> Answer:
        """The keys of a shard's texts; told which are new, the shard; or how long a few texts take."""
        if "sample" in job:
            return self._timed(job["sample"])
        number = job["number"]
        if job["new"] is None:
            keys = block_keys(self._work.context, self._work.block(number)[0])
            return {"number": number, "keys": _packed(keys.tobytes())}
        # An actor that was lost may have been just done with it.
        entry = finished_shard(self._work.output, shard_name(number))
        if entry is None:
            bits = np.frombuffer(base64.b64decode(job["new"]), np.uint8)
            new = np.unpackbits(bits, count=job["keys"]).astype(bool)  # [n]
            entry = self._work.make(number, lambda keys: new, SilentProgress())
        return {"number": number, "entry": entry.model_dump(mode="json")}

    def _timed(self, count: int) -> Answer:
        block = self._work.texts.read(0, count)
        began = time.perf_counter()
        build_shard(self._work.context, "sample", block, 0, KeySet().add, SilentProgress())
        return {"rows": len(block), "seconds": time.perf_counter() - began}


class ClusterShards:
    """What `encode` is given as `make`."""

    def __init__(self, cluster: ClusterConfig, *, device: str | None, trust_remote_code: bool) -> None:
        self._cluster, self._device, self._trust = cluster, device, trust_remote_code
        self.throughput: Throughput | None = None  # of the last call

    def forecast(self, config: EncodeConfig, texts: Path) -> Throughput:
        """What encoding `texts` would take, from the first of them by one worker; nothing is written."""
        collected = CollectedTexts.open(texts)
        settings = self._settings(config, texts, texts, None)
        jobs = [{"sample": min(count, len(collected))} for count in (8, SAMPLE)]
        with ray_session(self._cluster) as ray:
            workers = actors_that_fit(ray, self._cluster)
            one = self._cluster.model_copy(update={"actors": 1})
            *_, timed = run_jobs(ShardWorker, settings, jobs, one)
        each = timed["seconds"] / timed["rows"]
        return expected(len(collected), each, workers, self._cluster.price_per_hour)

    def _settings(
        self, config: EncodeConfig, texts: Path, output: Path, digest: str | None
    ) -> dict[str, Any]:
        return {
            "config": {**config.model_dump(mode="json"), "encoder": everywhere(config.encoder)},
            "texts": str(texts.resolve()),
            "output": str(output.resolve()),
            "device": self._device,
            "trust_remote_code": self._trust,
            "digest": digest,
        }

    def __call__(
        self, work: ShardWork, entries: list[ShardEntry | None], progress: Progress
    ) -> list[ShardEntry]:
        context, began, made = work.context, time.perf_counter(), 0
        settings = self._settings(context.config, work.texts.folder, work.output, context.encoder.info.digest)
        with ray_session(self._cluster):  # one for both rounds
            jobs = list(self._jobs(work, entries, settings))
            for answer in run_jobs(ShardWorker, settings, jobs, self._cluster):
                entry = ShardEntry.model_validate(answer["entry"])
                entries[answer["number"]] = entry
                progress.advance(entry.texts)
                made += entry.texts
        self.throughput = Throughput.of(made, time.perf_counter() - began, self._cluster.price_per_hour)
        return [entry for entry in entries if entry is not None]

    def _jobs(
        self, work: ShardWork, entries: list[ShardEntry | None], settings: dict[str, Any]
    ) -> Iterator[Job]:
        """A job for every missing shard, with which of its texts no earlier shard has."""
        missing: list[Job] = [
            {"number": number, "new": None} for number, entry in enumerate(entries) if entry is None
        ]
        answers = in_order(run_jobs(ShardWorker, settings, missing, self._cluster), missing)
        seen = KeySet()
        for number, entry in enumerate(entries):
            if entry is not None:
                seen.add(shard_keys(work.output, entry))
                continue
            new = seen.add(_keys(next(answers)))  # [n]
            yield {"number": number, "new": _packed(np.packbits(new).tobytes()), "keys": len(new)}


def _keys(answer: Answer) -> NDArray[np.uint64]:
    return np.frombuffer(base64.b64decode(answer["keys"]), np.uint64)


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
