"""Jobs handed to workers, answers handed back: through Ray Data's actor pool, or in this process.

A job and its answer are small and JSON. Whatever a worker makes that is large it writes itself, under a name
that the job decides: a job that is done twice, as after a lost node, leaves what it left the first time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

from unembed import errors
from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.ray_session import actors_that_fit, ray_session
from unembed.compute.memory import keep_freed_memory
from unembed.errors import UnavailableError, UnembedError

BLOCKS = 4096  # that Ray Data is given to schedule, at most
IN_FLIGHT = 2  # jobs that wait at an actor: one to do, one to go on with

Job = dict[str, Any]
Answer = dict[str, Any]


class Worker(Protocol):
    """One process that does jobs; what it needs is loaded once, by `__init__`."""

    def __init__(self, settings: dict[str, Any]) -> None: ...

    def __call__(self, job: Job) -> Answer: ...


def run_jobs(
    worker: type[Worker], settings: dict[str, Any], jobs: Sequence[Job], config: ClusterConfig
) -> Iterator[Answer]:
    """The answers as they come, in any order. A worker's `UnembedError` is raised here, and ends the run."""
    if config.on is None:
        here = worker(settings)
        yield from (here(job) for job in jobs)
        return
    if not jobs:
        return
    with ray_session(config) as ray, closing(_through_ray(ray, worker, settings, jobs, config)) as answers:
        for answer in answers:
            yield _checked(answer)


def in_order(answers: Iterator[Answer], jobs: Sequence[Job]) -> Iterator[Answer]:
    """The same in the order of the jobs: both carry a `number`."""
    waiting: dict[int, Answer] = {}
    for job in jobs:
        while job["number"] not in waiting:
            answer = next(answers)
            waiting[answer["number"]] = answer
        yield waiting.pop(job["number"])


def _through_ray(
    ray: Any, worker: type[Worker], settings: dict[str, Any], jobs: Sequence[Job], config: ClusterConfig
) -> Generator[Answer]:
    data = ray.data
    _hush(data)
    count = min(actors_that_fit(ray, config), len(jobs))
    answers = data.from_items(
        [{"job": json.dumps(job)} for job in jobs], override_num_blocks=min(len(jobs), BLOCKS)
    ).map_batches(
        Actor,
        batch_size=1,
        # A lost actor is started again elsewhere, and its jobs are done again, as often as it takes: Ray
        # Data's default, and the arguments that would bound it are on their way out.
        compute=data.ActorPoolStrategy(size=count, max_tasks_in_flight_per_actor=IN_FLIGHT),
        fn_constructor_args=(worker, settings, config.cpus_per_actor),
        num_cpus=config.cpus_per_actor,
        num_gpus=config.gpus_per_actor or None,
    )
    try:
        for batch in answers.iter_batches(batch_size=None, prefetch_batches=0):
            yield from map(json.loads, batch["answer"])
    except ray.exceptions.RayError as error:
        raise UnavailableError(
            f"The cluster gave up: {str(error).strip().splitlines()[-1]}",
            hint="What was finished stays. Run the same command again to go on.",
        ) from error


class Actor:
    """What Ray Data starts once per actor: a worker with its own threads; its errors are answers."""

    def __init__(self, worker: type[Worker], settings: dict[str, Any], threads: int) -> None:
        self._worker: Worker | None = None
        self._make, self._settings, self._threads = worker, settings, threads

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        return {"answer": [json.dumps(self._answer(json.loads(job))) for job in batch["job"]]}

    def _answer(self, job: Job) -> Answer:
        try:
            if self._worker is None:
                import torch

                torch.set_num_threads(self._threads)
                keep_freed_memory()
                self._worker = self._make(self._settings)
            return self._worker(job)
        except UnembedError as error:
            return {"problem": [type(error).__name__, error.message, error.hint]}
        except OSError as error:
            return {
                "problem": ["UnavailableError", f"{error.filename or 'A worker'}: {error.strerror}", None]
            }


def _checked(answer: Answer) -> Answer:
    """The answer, or the worker's error under its own class, so that the exit code is the same."""
    if "problem" not in answer:
        return answer
    kind, message, hint = answer["problem"]
    raise getattr(errors, kind, UnembedError)(message, hint=hint)


def _hush(data: Any) -> None:
    """Our own bar reports progress; Ray Data's lines go to its log files only."""
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    for handler in logging.getLogger("ray.data").handlers:
        if type(handler).__name__ == "PlainRayHandler":
            handler.setLevel(logging.CRITICAL)
