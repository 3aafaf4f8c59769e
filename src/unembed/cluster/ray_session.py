"""A connection to a Ray cluster, or a small one on this machine: quiet, without dashboard or telemetry."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unembed.cluster.cluster_config import ClusterConfig
from unembed.errors import UnavailableError, UsageError
from unembed.extras import require

# Jobs and answers are small: files carry the data. 75 MB is the least that Ray starts with.
OBJECT_STORE = 128 * 1024**2
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # sends nothing anywhere
    # By default Ray's workers give way to everything else on the machine, and starve beside other work.
    "RAY_worker_niceness": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # the C++ side of this process; a cluster's own logs keep theirs
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # an actor without a GPU sees the devices as they are
    "RAY_DEDUP_LOGS": "1",
}


@contextmanager
def ray_session(config: ClusterConfig) -> Iterator[Any]:
    """The module `ray`, connected; a connection that is there already is used and left open.

    Where the work is done in this process there is nothing to connect to.
    """
    if config.on is None:
        yield None
        return
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    ray = require("ray", extra="ray", purpose="Computing on a cluster")
    require("ray.data", extra="ray", purpose="Computing on a cluster")
    if ray.is_initialized():
        yield ray
        return
    _connect(ray, config)
    _hush(ray)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, config: ClusterConfig) -> None:
    # Only a cluster that is started here can be told how large it is.
    mine: dict[str, Any] = {}
    if config.address == "local":
        mine = {"include_dashboard": False, "object_store_memory": OBJECT_STORE}
        if config.actors is not None:
            mine["num_cpus"] = max(os.cpu_count() or 1, config.actors * config.cpus_per_actor)
    try:
        with _without_native_stderr():
            ray.init(address=config.address, logging_level=logging.FATAL, log_to_driver=False, **mine)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise UnavailableError(
            f"The Ray cluster '{config.address}' does not answer: {str(error).splitlines()[0]}",
            hint="Is it running ('ray status')? Give --on ray:HOST:6379, or --on ray for one here.",
        ) from error


def _hush(ray: Any) -> None:
    """Ray prints what its nodes complain of, a lost worker say, on stdout, where only data may be.

    There is no setting for it. What matters reaches us as an exception; the rest is in Ray's logs.
    """
    worker = ray._private.worker
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *arguments, **options: None


@contextmanager
def _without_native_stderr() -> Iterator[None]:
    """Ray's C++ side writes a line about its log level to file descriptor 2, whatever the level is."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def actors_that_fit(ray: Any, config: ClusterConfig) -> int:
    """How many workers to start: as many as asked for, else as many as the cluster has room for."""
    if config.on is None:
        return 1
    if config.actors is not None:
        return config.actors
    there = ray.cluster_resources()
    wanted = {"CPU": config.cpus_per_actor, "GPU": config.gpus_per_actor}
    fit = int(min(there.get(kind, 0) // amount for kind, amount in wanted.items() if amount))
    if fit < 1:
        has = ", ".join(f"{there.get(kind, 0):g} {kind}" for kind in wanted)
        raise UsageError(
            f"The cluster has {has}: no worker of {config.cpus_per_actor} CPU and "
            f"{config.gpus_per_actor:g} GPU fits.",
            hint="Change --cpus-per-actor or --gpus-per-actor; --actors N waits for nodes to come.",
        )
    return fit
