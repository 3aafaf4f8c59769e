"""How many sequences a second `unembed serve` answers on loopback, with 1, 8 and 64 clients.

    python benchmarks/serve_load.py --model runs/short/best
    python benchmarks/serve_load.py --model runs/short/best --clients 1,64 --requests 256 --seconds 30 --json

Each client sends one vector, waits for its text, and sends the next. Every answer is compared with the
same inversion done alone, before the server starts: a lost or wrong answer
fails the benchmark. A client count ends after its requests or its seconds, whatever comes first. Without a
model, a small one with random weights stands in: the speed of its shape is real, its texts are not.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import socket
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch
import uvicorn

from unembed import Inverter
from unembed.encoders import load_encoder
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.logs import Log

WORDS = ["the", "of", "time", "people", "water", "words", "long", "very", "good", "house", "year", "green"]


def stand_in() -> Inverter:
    """Random weights in the shape of a small model."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import tiny

    encoder = load_encoder()
    return Inverter(tiny.checkpoint(encoder.tokenizer(), encoder.info))


def sentences(count: int) -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(WORDS, size=random.integers(4, 13))) + "." for _ in range(count)]


class Server(threading.Thread):
    """The real server on a free port of loopback."""

    def __init__(self, inverter: Inverter) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        app = create_app({"m": inverter}, ServeConfig(), log=Log(file=io.StringIO()))
        self.server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))

    def run(self) -> None:
        self.server.run(sockets=[self.socket])


async def load(
    url: str, clients: int, bodies: list[dict[str, Any]], expected: list[list[int]], seconds: float
) -> dict[str, Any]:
    """`clients` at once, each one request at a time, until the work or the time is over."""
    todo = iter(range(len(bodies)))
    times: list[float] = []
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
                answer = await client.post("/api/invert", json=bodies[index])
                answer.raise_for_status()
            except httpx.HTTPError:
                lost += 1
                continue
            times.append(time.perf_counter() - began)
            body = answer.json()
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
        "mean_batch": round(statistics.mean(batches), 1),
        "lost": lost,
        "wrong": wrong,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", help="folder of a trained model")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--requests", type=int, default=192, help="a client count")
    parser.add_argument("--seconds", type=float, default=30.0, help="a client count")
    parser.add_argument("--strategy", default="confidence")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    inverter = Inverter.from_pretrained(args.model) if args.model else stand_in()
    vectors = inverter.encode(sentences(args.requests))
    how = {"strategy": args.strategy, "steps": args.steps}
    began = time.perf_counter()
    expected = [list(inverter.invert(vector, **how).tokens) for vector in vectors]
    alone = len(vectors) / (time.perf_counter() - began)
    bodies = [{"vectors": [vector.tolist()], **how} for vector in vectors]
    server = Server(inverter)
    server.start()
    while not server.server.started:
        time.sleep(0.05)
    asyncio.run(load(server.url, 1, bodies[:4], expected, args.seconds))  # warm
    rows = [
        asyncio.run(load(server.url, int(count), bodies, expected, args.seconds))
        for count in args.clients.split(",")
    ]
    server.server.should_exit = True
    server.join(20)
    ratio = rows[-1]["sequences_per_second"] / rows[0]["sequences_per_second"]
    if args.json:
        print(json.dumps({"alone_per_second": round(alone, 2), "rows": rows, "ratio": round(ratio, 2)}))
    else:
        print(f"without a server, one after the other: {alone:.1f} sequences/s")
        for row in rows:
            print("  ".join(f"{name} {value}" for name, value in row.items()))
        print(f"{rows[-1]['clients']} clients against {rows[0]['clients']}: {ratio:.1f} times the throughput")
    if any(row["lost"] or row["wrong"] for row in rows):
        sys.exit("lost or wrong answers")


if __name__ == "__main__":
    main()
