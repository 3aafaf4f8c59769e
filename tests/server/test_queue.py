"""The queue: shared passes, positions, refusals, and clients that leave."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from unembed import Inverter
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.problems import Problem
from unembed.server.queue import Batcher, Job
from unembed.server.schemas import InvertRequest, Recovered

LIMITS = {"max_batch": 4, "max_waiting": 6, "max_client": 4, "gather": 0.0}


class Held:
    """A worker that waits to be let go, and remembers its batches."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.batches: list[list[object]] = []

    def __call__(self, jobs: Sequence[Job]) -> None:
        self.batches.append([job.work for job in jobs])
        assert self.go.wait(30)
        for job in jobs:
            if job.work == "bad":
                raise RuntimeError("bad")
            job.finish(job.work)


def run(test: Callable[[Batcher, Held], object]) -> None:
    async def main() -> None:
        held = Held()
        queue = Batcher(held, **LIMITS)
        queue.start()
        await test(queue, held)
        held.go.set()
        await queue.stop()

    asyncio.run(main())


async def begun(held: Held, count: int = 1) -> None:
    while len(held.batches) < count:
        await asyncio.sleep(0.005)


def test_what_fits_together_runs_together() -> None:
    async def test(queue: Batcher, held: Held) -> None:
        jobs = [Job(key, number, 1, str(number)) for number, key in enumerate("aabab")]
        queue.submit(jobs[0])
        await begun(held)
        for job in jobs[1:]:
            queue.submit(job)
        assert [job.position for job in jobs] == [0, 0, 1, 2, 3]
        held.go.set()
        assert await asyncio.gather(*(job.future for job in jobs)) == [0, 1, 2, 3, 4]
        assert held.batches == [[0], [1, 3], [2, 4]]

    run(test)


@pytest.mark.parametrize(("seconds_each", "first"), [(100.0, [0, 1, 2, 3]), (0.0, [0])])
def test_a_batch_waits_while_others_keep_coming(seconds_each: float, first: list[int]) -> None:
    """Unless the batch itself is over sooner than the waiting."""

    async def main() -> None:
        held = Held()
        held.go.set()
        queue = Batcher(held, **{**LIMITS, "gather": 0.3})
        queue._expected = 4
        queue._seconds_each = seconds_each
        queue.start()
        jobs = [Job("a", number, 1, str(number)) for number in range(4)]
        for job in jobs:
            queue.submit(job)
            await asyncio.sleep(0.05)
        await asyncio.gather(*(job.future for job in jobs))
        await queue.stop()
        assert held.batches[0] == first

    asyncio.run(main())


def windows(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """By batch: whether it would wait for more jobs. None does."""
    asked: list[bool] = []

    async def gather_more(queue: Batcher) -> None:
        asked.append(len(queue._waiting) < queue._expected)

    monkeypatch.setattr(Batcher, "_gather_more", gather_more)
    return asked


def test_a_lone_client_never_waits_for_others() -> None:
    """The window is endless here: a client that waited for it would not be answered."""

    async def main() -> None:
        held = Held()
        held.go.set()
        queue = Batcher(held, **{**LIMITS, "gather": 1000.0})
        queue.start()
        for number in range(3):
            queue._seconds_each = 1e6
            job = Job("a", number, 1, "x")
            queue.submit(job)
            assert await asyncio.wait_for(job.future, 30) == number
        await queue.stop()

    asyncio.run(main())


def test_a_batch_starts_when_all_are_back() -> None:
    async def main() -> None:
        held = Held()
        held.go.set()
        queue = Batcher(held, **{**LIMITS, "gather": 1000.0})
        queue._expected, queue._seconds_each = 3, 1e6
        queue.start()
        jobs = [Job("a", number, 1, str(number)) for number in range(3)]
        for job in jobs:
            queue.submit(job)
            await asyncio.sleep(0.01)
        await asyncio.wait_for(asyncio.gather(*(job.future for job in jobs)), 30)
        await queue.stop()
        assert held.batches == [[0, 1, 2]]

    asyncio.run(main())


def test_those_who_ran_or_waited_together_are_expected_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes after them, alone, waits once."""
    waits = windows(monkeypatch)

    async def test(queue: Batcher, held: Held) -> None:
        first, *pair = (Job("a", number, 1, str(number)) for number in range(3))
        queue.submit(first)
        await begun(held)
        for job in pair:
            queue.submit(job)
        held.go.set()
        for job in pair:
            await job.future
        for number in range(3, 6):
            job = Job("a", number, 1, "x")
            queue.submit(job)
            await job.future
        assert held.batches == [[0], [1, 2], [3], [4], [5]]

    run(test)
    # Nobody before the first; the first, while two waited; those two; and then nobody.
    assert waits == [False, True, True, False, False]


def test_what_cannot_share_the_batch_runs_next() -> None:
    async def main() -> None:
        held = Held()
        held.go.set()
        queue = Batcher(held, **LIMITS)
        jobs = [Job(key, key, 1, "x") for key in "ab"]
        for job in jobs:
            queue.submit(job)
        queue.start()
        await asyncio.wait_for(asyncio.gather(*(job.future for job in jobs)), 30)
        await queue.stop()
        assert held.batches == [["a"], ["b"]]

    asyncio.run(main())


def test_a_full_queue_says_when_to_come_back() -> None:
    async def test(queue: Batcher, held: Held) -> None:
        queue.submit(Job("a", 0, 1, "x"))
        await begun(held)
        queue.submit(Job("a", 1, 3, "x"))
        with pytest.raises(Problem) as mine:
            queue.submit(Job("a", 2, 2, "x"))
        assert (mine.value.status, mine.value.code) == (429, "too_many")
        queue.submit(Job("a", 3, 3, "y"))
        with pytest.raises(Problem) as full:
            queue.submit(Job("a", 4, 1, "z"))
        assert (full.value.status, full.value.code) == (503, "full")
        response = full.value.response()
        assert int(response.headers["retry-after"]) >= 1

    run(test)


def test_who_leaves_is_not_served_and_positions_move_up() -> None:
    async def test(queue: Batcher, held: Held) -> None:
        queue.submit(Job("a", 0, 1, "x"))
        await begun(held)
        gone, stays = Job("a", 1, 1, "x"), Job("a", 2, 1, "x", watched=True)
        queue.submit(gone)
        queue.submit(stays)
        queue.leave(gone)
        held.go.set()
        assert await stays.future == 2
        assert held.batches == [[0], [2]]
        heard = []
        while (news := await stays.news.get()) is not None:
            heard.append(news)
        assert heard == [("queued", {"position": 1}), ("queued", {"position": 0}), ("started", {"batch": 1})]

    run(test)


def test_one_failure_does_not_fail_its_neighbours() -> None:
    async def test(queue: Batcher, held: Held) -> None:
        queue.submit(Job("a", 0, 1, "x"))
        await begun(held)
        good, bad = Job("a", "good", 1, "x"), Job("a", "bad", 1, "x")
        queue.submit(good)
        queue.submit(bad)
        held.go.set()
        assert await good.future == "good"
        with pytest.raises(RuntimeError):
            await bad.future

    run(test)


def test_concurrent_requests_share_passes_and_get_what_they_would_get_alone(
    inverter: Inverter, vectors: np.ndarray
) -> None:
    app = create_app({"toy": inverter}, ServeConfig(gather=0.05))

    async def main() -> list[dict]:
        app.state.service.start()
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = [
                client.post("/api/invert", json={"vectors": [vector.tolist()], "n_best": 3, "seed": 1})
                for vector in vectors
            ]
            answers = await asyncio.gather(*asked)
        await app.state.service.stop()
        return [answer.json() for answer in answers]

    answers = asyncio.run(main())
    assert max(answer["work"]["batch"] for answer in answers) > 1
    for vector, answer in zip(vectors, answers, strict=True):
        alone = inverter.invert(vector, n_best=3, seed=1)
        [result] = answer["results"]
        assert result["tokens"] == list(alone.tokens)
        assert [one["text"] for one in result["alternatives"]] == [one.text for one in alone.alternatives]


def one_leaves(
    inverter: Inverter, vectors: np.ndarray, left: Callable[[str, dict], bool], **how: object
) -> tuple[Recovered, Recovered]:
    """Two requests in one batch: what the one that stays is given, and the one that leaves when `left`."""
    engine = create_app({"toy": inverter}).state.service.engines["toy"]

    async def main() -> tuple[Job, Job]:
        stays, leaves = (
            Job("k", InvertRequest(vectors=[vector.tolist()], **how), 1, "x", watched=name == "leaves")
            for name, vector in zip(("stays", "leaves"), vectors, strict=False)
        )

        def tell(name: str, data: dict) -> None:
            leaves.gone = left(name, data)

        leaves.tell = tell
        engine.invert([stays, leaves])
        await asyncio.sleep(0)
        return stays, leaves

    [kept], [given_up] = (job.future.result().results for job in asyncio.run(main()))
    return kept, given_up


def test_a_client_that_leaves_stops_costing(inverter: Inverter, vectors: np.ndarray) -> None:
    """Its sequences leave the batch between two steps; its neighbour's text stays the same."""
    kept, given_up = one_leaves(inverter, vectors, lambda name, data: data.get("step", 0) >= 1)
    alone = inverter.invert(vectors[0])
    assert kept.tokens == list(alone.tokens)
    assert kept.forward_passes == alone.forward_passes
    assert given_up.forward_passes < inverter.invert(vectors[1]).forward_passes


def test_who_leaves_a_search_stops_costing(inverter: Inverter, vectors: np.ndarray) -> None:
    """Its search ends with the round; its neighbour finds what it would find alone."""
    how = {"strategy": "guided", "options": {"max_encoder_calls": 80}}
    kept, given_up = one_leaves(inverter, vectors, lambda name, data: name == "search", **how)
    alone = inverter.invert(vectors[0], strategy="guided", max_encoder_calls=80)
    assert (kept.text, kept.encoder_calls) == (alone.text, alone.encoder_calls)
    assert given_up.encoder_calls <= 10 < kept.encoder_calls


def test_time_runs_out(serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(timeout=0.05)
    let_go = threading.Event()
    monkeypatch.setattr(Inverter, "invert", lambda *given, **how: let_go.wait(20) and [])
    for path in ("/api/invert", "/api/invert/stream"):
        response = client.post(path, json={"texts": ["The cat."]})
        assert '"timeout"' in response.text
    let_go.set()


def test_stopping_ends_what_is_running() -> None:
    """A search that would go on for minutes looks whether it is still wanted; stopping says it is not."""
    begun_running = threading.Event()

    def search(jobs: Sequence[Job]) -> None:
        begun_running.set()
        for _ in range(1000):  # rounds
            if all(job.gone for job in jobs):
                return
            threading.Event().wait(0.02)
        jobs[0].finish("it went on to the end")

    async def main() -> None:
        queue = Batcher(search, **LIMITS)
        queue.start()
        job = Job("a", 0, 1, "client")
        queue.submit(job)
        while not begun_running.is_set():
            await asyncio.sleep(0.005)
        await queue.stop()
        assert job.gone
        with pytest.raises(Problem, match="stopping"):
            await job.future
        with pytest.raises(Problem, match="stopping"):
            queue.submit(Job("a", 1, 1, "client"))

    asyncio.run(main())
