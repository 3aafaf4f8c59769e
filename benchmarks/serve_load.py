"""How long clients of `unembed serve` wait on loopback, and how many sequences per second 1, 8 and 64 get.

    python benchmarks/serve_load.py --model runs/short/best
    python benchmarks/serve_load.py --model runs/short/best --clients 1,64 --requests 256 --seconds 30 --json

The server is a process of its own, as it would be; the clients share another. Each client sends one
vector, waits for its text, and sends the next. Every answer is compared with the
same inversion done alone, before the server starts: a lost or wrong answer
fails the benchmark. A client count ends after its requests or its seconds, whatever comes first.

`p50_over_work` is a request's time at the client over the seconds that the answer reports of its batch: what
a lone client waits beyond the work. `first_over_second` is of the first two requests to a fresh server, which
ask for the same vector; the median of several starts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import torch

from unembed import Inverter

JSON = {"content-type": "application/json"}
WORDS = ["the", "of", "time", "people", "water", "words", "long", "very", "good", "house", "year", "green"]


def sentences(count: int) -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(WORDS, size=random.integers(4, 13))) + "." for _ in range(count)]


@contextmanager
def serving(model: str | None, threads: int | None) -> Iterator[str]:
    """`unembed serve` on a free port of loopback; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    typed = [sys.executable, "-m", "unembed", "serve", "--port", str(port)]
    typed += ["--model", model] if model else []
    typed += ["--threads", str(threads)] if threads else []
    server = subprocess.Popen(typed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            if server.poll() is not None:
                sys.exit("unembed serve did not start: " + " ".join(typed))
            try:
                httpx.get(f"{url}/health").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(20)


async def load(
    url: str, clients: int, bodies: list[bytes], expected: list[list[int]], seconds: float
) -> dict[str, Any]:
    """`clients` at once, each one request at a time, until the work or the time is over."""
    todo = iter(range(len(bodies)))
    times: list[float] = []
    over_work: list[float] = []
    batches: list[int] = []
    wrong = lost = 0
    end = time.perf_counter() + seconds

    async def one(client: httpx.AsyncClient) -> None:
        nonlocal wrong, lost
        for index in todo:
            began = time.perf_counter()
            if began > end:
                return
            try:
                answer = await client.post("/api/invert", content=bodies[index], headers=JSON)
                answer.raise_for_status()
            except httpx.HTTPError:
                lost += 1
                continue
            times.append(time.perf_counter() - began)
            body = answer.json()
            over_work.append(times[-1] / body["work"]["seconds"])
            batches.append(body["work"]["batch"])
            wrong += body["results"][0]["tokens"] != expected[index]

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        began = time.perf_counter()
        await asyncio.gather(*(one(client) for _ in range(clients)))
        took = time.perf_counter() - began
    times.sort()
    return {
        "clients": clients,
        "answered": len(times),
        "sequences_per_second": round(len(times) / took, 2),
        "p50_ms": round(1000 * statistics.median(times), 1),
        "p95_ms": round(1000 * times[int(0.95 * (len(times) - 1))], 1),
        "p50_over_work": round(statistics.median(over_work), 3),
        "mean_batch": round(statistics.mean(batches), 1),
        "lost": lost,
        "wrong": wrong,
    }


def first_over_second(url: str, body: bytes) -> float:
    """The time of the first request to this server over that of the same one again."""
    with httpx.Client(base_url=url, timeout=120) as client:
        client.get("/health")  # the connection is not what is measured
        times = []
        for _ in range(2):
            began = time.perf_counter()
            client.post("/api/invert", content=body, headers=JSON).raise_for_status()
            times.append(time.perf_counter() - began)
    return times[0] / times[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", help="folder of a trained model  [default: the bundled one]")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--requests", type=int, default=192, help="a client count")
    parser.add_argument("--seconds", type=float, default=30.0, help="a client count")
    parser.add_argument("--starts", type=int, default=3, help="servers whose first two requests are compared")
    parser.add_argument("--strategy", default="confidence")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    inverter = Inverter.from_pretrained(args.model)
    vectors = inverter.encode(sentences(args.requests))
    how = {"strategy": args.strategy, "steps": args.steps}
    began = time.perf_counter()
    expected = [list(inverter.invert(vector, **how).tokens) for vector in vectors]
    alone = len(vectors) / (time.perf_counter() - began)
    bodies = [json.dumps({"vectors": [vector.tolist()], **how}).encode() for vector in vectors]
    ratios = []
    for _ in range(args.starts):
        with serving(args.model, args.threads) as url:
            ratios.append(first_over_second(url, bodies[0]))
    first = round(statistics.median(ratios), 3)
    with serving(args.model, args.threads) as url:
        asyncio.run(load(url, 1, bodies[:4], expected, args.seconds))  # warm
        rows = [
            asyncio.run(load(url, int(count), bodies, expected, args.seconds))
            for count in args.clients.split(",")
        ]
    ratio = rows[-1]["sequences_per_second"] / rows[0]["sequences_per_second"]
    if args.json:
        found = {"alone_per_second": round(alone, 2), "first_over_second": first}
        print(json.dumps({**found, "rows": rows, "ratio": round(ratio, 2)}))
    else:
        print(f"without a server, one after the other: {alone:.1f} sequences/s")
        print(f"the first request to a server takes {first:.3f} times as long as the second")
        for row in rows:
            print("  ".join(f"{name} {value}" for name, value in row.items()))
        print(f"{rows[-1]['clients']} clients against {rows[0]['clients']}: {ratio:.1f} times the throughput")
    if any(row["lost"] or row["wrong"] for row in rows):
        sys.exit("lost or wrong answers")


if __name__ == "__main__":
    main()
