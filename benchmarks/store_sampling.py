"""What it takes to sample a local store: time, and the peak of memory above that before the first row.

    python benchmarks/store_sampling.py --rows 1000000 --stores npy,parquet,duckdb,lancedb --folder /tmp/large
    python benchmarks/store_sampling.py --rows 100000 --rows 1000000 --stores duckdb

Makes stores of random vectors of 384 numbers with a text each (float16 in .npy and LanceDB, float32 in the
others; they stay in --folder for the next run), then samples each in a process of its own. Memory is what the
process has to itself (RssAnon of Linux), looked at every 5 ms; pages of a mapped file are the system's, which
takes them back.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DIMENSION = 384
CHUNK = 20_000
NAMES = {
    "npy": "v.npy", "parquet": "v.parquet", "duckdb": "v.duckdb", "lancedb": "lance", "sqlite-vec": "v.db",
    "chroma": "chroma", "milvus": "milvus.db",
}  # fmt: skip


def chunks(rows: int) -> Iterator[tuple[int, np.ndarray]]:
    generator = np.random.default_rng(0)
    for start in range(0, rows, CHUNK):
        yield start, generator.standard_normal((min(CHUNK, rows - start), DIMENSION), dtype=np.float32)


def arrow_batches(rows: int, half: bool) -> Iterator[object]:
    import pyarrow as pa

    for start, vectors in chunks(rows):
        kind = pa.float16() if half else pa.float32()
        flat = pa.array(vectors.astype(np.float16 if half else np.float32).ravel(), kind)
        ids = pa.array(np.arange(start, start + len(vectors)))
        texts = pa.array(
            [
                f"Text number {number} of a store that is sampled."
                for number in range(start, start + len(vectors))
            ]
        )
        vectors_column = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
        yield pa.record_batch([ids, texts, vectors_column], names=["id", "text", "vector"])


def make(kind: str, rows: int, path: Path) -> None:
    """A store of one kind, written in chunks."""
    if kind == "npy":
        array = np.lib.format.open_memmap(path, "w+", np.float16, (rows, DIMENSION))
        for start, vectors in chunks(rows):
            array[start : start + len(vectors)] = vectors
        array.flush()
    elif kind == "parquet":
        import pyarrow.parquet as pq

        batches = arrow_batches(rows, half=False)
        first = next(batches)
        with pq.ParquetWriter(path, first.schema, compression="none", use_dictionary=False) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
    elif kind == "lancedb":
        import lancedb

        batches = list(arrow_batches(1, half=True))
        lancedb.connect(path).create_table("notes", arrow_batches(rows, half=True), schema=batches[0].schema)
    elif kind == "duckdb":
        import duckdb
        import pyarrow as pa

        with duckdb.connect(str(path)) as database:
            database.execute(f"CREATE TABLE notes (id BIGINT, text VARCHAR, vector FLOAT[{DIMENSION}])")
            for batch in arrow_batches(rows, half=False):
                database.register("chunk", pa.Table.from_batches([batch]))
                database.execute("INSERT INTO notes SELECT * FROM chunk")
                database.unregister("chunk")
    elif kind == "chroma":
        import chromadb

        collection = chromadb.PersistentClient(str(path)).create_collection("notes", embedding_function=None)
        for start, vectors in chunks(rows):
            for first in range(0, len(vectors), 2000):
                part = vectors[first : first + 2000]
                names = [str(start + first + row) for row in range(len(part))]
                collection.add(ids=names, embeddings=part, documents=[f"Text {name}" for name in names])
    elif kind == "milvus":
        from pymilvus import MilvusClient

        client = MilvusClient(str(path))
        client.create_collection("notes", dimension=DIMENSION)
        for start, vectors in chunks(rows):
            for first in range(0, len(vectors), 2000):
                part = vectors[first : first + 2000]
                some = [
                    {"id": start + first + row, "vector": vector, "text": "x"}
                    for row, vector in enumerate(part)
                ]
                client.insert("notes", some)
        client.close()
    elif kind == "sqlite-vec":
        import apsw
        import sqlite_vec

        database = apsw.Connection(str(path))
        database.enable_load_extension(True)
        database.load_extension(sqlite_vec.loadable_path())
        with database:
            database.execute(
                "CREATE VIRTUAL TABLE notes USING vec0(id INTEGER PRIMARY KEY, "
                f"vector float[{DIMENSION}], +text TEXT)"
            )
            for start, vectors in chunks(rows):
                database.executemany(
                    "INSERT INTO notes(id, vector, text) VALUES (?, ?, ?)",
                    (
                        (start + row, vector.tobytes(), f"Text {start + row}")
                        for row, vector in enumerate(vectors)
                    ),
                )
        database.close()


def address(kind: str, path: Path) -> str:
    return str(path) if kind in ("npy", "parquet") else f"{kind}:{path}#notes"


def private_bytes() -> int:
    """What the process has to itself."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("This needs Linux: /proc/self/status has no RssAnon.")


def measure(where: str, samples: int) -> None:
    """Sample a store in this process; print time and memory as JSON."""
    from unembed.stores.registry import open_store
    from unembed.stores.sampling import sample_rows

    store = open_store(where)
    next(iter(store.scroll(1)))  # imports and buffers are there
    base, peak, done = private_bytes(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, private_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun, processor = time.perf_counter(), time.process_time()
    rows = sample_rows(store, samples, seed=0)
    seconds, busy = time.perf_counter() - begun, time.process_time() - processor
    done.set()
    watcher.join()
    print(
        json.dumps(
            {
                "rows": store.count(),
                "sample": len(rows),
                "seconds": round(seconds, 1),
                "processor_seconds": round(busy, 1),
                "base_mb": round(base / 1e6),
                "peak_above_base_mb": round(max(0, peak - base) / 1e6, 1),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, action="append", help="rows of a store; repeat for several")
    parser.add_argument("--samples", type=int, default=500, help="[default: %(default)s]")
    parser.add_argument("--stores", default="npy,parquet,duckdb,lancedb", help="[default: %(default)s]")
    parser.add_argument("--folder", type=Path, help="where the stores stay  [default: a temporary folder]")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.samples)
        return
    with tempfile.TemporaryDirectory() as temporary:
        for rows in arguments.rows or [1_000_000]:
            folder = (arguments.folder or Path(temporary)) / str(rows)
            folder.mkdir(parents=True, exist_ok=True)
            for kind in arguments.stores.split(","):
                path = folder / NAMES[kind]
                if not path.exists():
                    make(kind, rows, path)
                size = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
                command = [sys.executable, __file__, "--samples", str(arguments.samples)]
                found = subprocess.run(
                    [*command, "--measure", address(kind, path)], check=True, capture_output=True, text=True
                )
                print(
                    json.dumps({"store": kind, "size_mb": round(size / 1e6), **json.loads(found.stdout)}),
                    flush=True,
                )


if __name__ == "__main__":
    main()
