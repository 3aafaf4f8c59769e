"""How much faster one version of unembed is than another: both run the same tasks, taking turns, in one run.

    python benchmarks/versions.py --before OLD/bin/python --after NEW/bin/python \
        --data short=data/short --data long=data/wiki --tasks alone,many --samples 20
    python benchmarks/versions.py ... --after-option '{"quality": "fast"}'
    python benchmarks/versions.py ... --tasks guided --calls 500 --samples 32 --log FILE --minutes 10

Each version is a process of its own, with its own defaults: what somebody gets who types nothing but the
command. They take turns text by text, in an order that alternates, because a busy machine drifts. The ratio
is that of the sums of seconds. Beside it stand token F1 and exact match of both, with 95 % intervals of the
means, and the interval of their difference: faster and worse would be no gain.

`alone`: one vector per call; `many`: all in one call; `guided`: one vector per call, guided by the encoder;
`guided-many`: all in one call.

With `--log`, every answer is noted, and the same command goes on where it stopped; with `--minutes` it stops
by itself, and prints the figures of the texts that both versions have had.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

BEGAN = time.monotonic()
ALONE, MANY, GUIDED, GUIDED_MANY = "alone", "many", "guided", "guided-many"


def work() -> None:
    """The other end: made of names that both versions have."""
    from unembed import Inverter

    inverter = Inverter.from_pretrained()
    inverter.invert(inverter.encode(["Nothing is measured yet."]))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        vectors = np.array(job["vectors"], dtype=np.float32)
        began, processor = time.perf_counter(), time.process_time()
        found = inverter.invert(vectors, **job["how"])
        took = time.perf_counter() - began, time.process_time() - processor
        rows = [[one.text, list(one.tokens), one.encoder_calls, one.forward_passes] for one in found]
        print(json.dumps([took, rows]), flush=True)


class Version:
    """A Python environment with a version of unembed in it, started when it is first asked."""

    def __init__(self, python: str, threads: int) -> None:
        self._python, self._threads = python, threads
        self._process: subprocess.Popen[str] | None = None
        self.seconds: list[float] = []
        self.processor: list[float] = []
        self.rows: list[list[Any]] = []

    def start(self, vectors: np.ndarray, how: dict[str, Any]) -> None:
        """What happens only once is not what is compared."""
        self._process = subprocess.Popen(
            [self._python, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(self._threads)},
        )
        self._read()
        self.ask(vectors[:1], {**how, "max_encoder_calls": 5} if how else how)

    def ask(self, vectors: np.ndarray, how: dict[str, Any]) -> Any:
        if self._process is None:
            self.start(vectors, how)
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"vectors": vectors.tolist(), "how": how}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def count(self, answer: Any) -> None:
        (clock, processor), rows = answer
        self.seconds.append(clock)
        self.processor.append(processor)
        self.rows += rows

    def _read(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a version ended; its message is above")
        return json.loads(line)

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


class Log:
    """Answers that are there already, by what was asked; new ones are added to the file at once."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._answers: dict[str, Any] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                key, answer = json.loads(line)
                self._answers[json.dumps(key)] = answer

    def answer(self, key: list[Any], ask: Callable[[], Any]) -> Any:
        name = json.dumps(key)
        if name not in self._answers:
            self._answers[name] = ask()
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self._answers[name]]) + "\n")
        return self._answers[name]


def interval(values: np.ndarray) -> list[float]:
    """95 % of the mean, texts resampled."""
    draws = np.random.default_rng(0).integers(len(values), size=(2000, len(values)))
    return [round(float(edge), 4) for edge in np.quantile(values[draws].mean(axis=1), [0.025, 0.975])]


def measure(task: str, kind: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from tokenizers import Tokenizer

    from unembed.data.prepared import PreparedData
    from unembed.evaluation.samples import draw_samples
    from unembed.inverter import BUNDLED
    from unembed.metrics.exact import exact_match
    from unembed.metrics.f1 import token_f1

    samples = draw_samples(
        PreparedData.open(folder), options.split, options.samples, seed=options.seed,
        tokenizer=Tokenizer.from_file(str(BUNDLED / "tokenizer.json")),
        min_tokens=4, max_tokens=options.max_tokens,
    )  # fmt: skip
    vectors = samples.vectors.astype(np.float32)
    how: dict[str, Any] = {}
    if task in (GUIDED, GUIDED_MANY):
        how = {"strategy": "guided", "max_encoder_calls": options.calls}
    together = len(vectors) if task in (MANY, GUIDED_MANY) else 1
    versions = {
        "before": Version(options.before, options.threads),
        "after": Version(options.after, options.threads),
    }
    log, done = Log(options.log), 0
    for turn, first in enumerate(range(0, len(vectors), together)):
        if options.minutes and time.monotonic() - BEGAN > 60 * options.minutes:
            break
        part = vectors[first : first + together]
        for name in list(versions)[:: 1 if turn % 2 == 0 else -1]:
            own = {**how, **(options.after_option if name == "after" else {})}
            drawn = [options.split, options.seed, options.samples, options.max_tokens]
            key = [name, task, kind, own, *drawn, first]
            versions[name].count(log.answer(key, partial(versions[name].ask, part, own)))
        done = first + len(part)
    vectors, texts, tokens = vectors[:done], samples.texts[:done], samples.tokens[:done]
    figures: dict[str, np.ndarray] = {}
    out: dict[str, Any] = {
        "task": task, "kind": kind, "n": len(vectors), "threads": options.threads, "split": options.split,
        **({"calls": options.calls} if how else {}), "after_option": options.after_option,
    }  # fmt: skip
    for name, version in versions.items():
        version.close()
        f1 = [token_f1(ids, row[1]) for ids, row in zip(tokens, version.rows, strict=True)]
        exact = [exact_match(text, row[0]) for text, row in zip(texts, version.rows, strict=True)]
        figures[f"{name}_f1"], figures[f"{name}_exact"] = np.array(f1), np.array(exact, dtype=float)
        out[name] = {
            "seconds_per_text": round(sum(version.seconds) / len(vectors), 4),
            "passes": round(float(np.mean([row[3] for row in version.rows])), 1),
            "encoder_calls": round(float(np.mean([row[2] for row in version.rows])), 1),
            **{
                metric: [
                    round(float(figures[f"{name}_{metric}"].mean()), 4),
                    *interval(figures[f"{name}_{metric}"]),
                ]
                for metric in ("f1", "exact")
            },
        }
    before, after = versions.values()
    out["times_as_fast"] = round(sum(before.seconds) / sum(after.seconds), 2)
    out["times_as_fast_processor"] = round(sum(before.processor) / sum(after.processor), 2)
    for metric in ("f1", "exact"):
        out[f"{metric}_difference"] = interval(figures[f"after_{metric}"] - figures[f"before_{metric}"])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", help="python of the environment with the old version")
    parser.add_argument("--after", default=sys.executable, help="[default: this one]")
    parser.add_argument("--data", action="append", default=[], help="KIND=FOLDER; repeat for more")
    parser.add_argument("--tasks", default=ALONE, help=f"of {ALONE}, {MANY}, {GUIDED}, {GUIDED_MANY}")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--calls", type=int, default=500, help="encoder calls of a guided search")
    parser.add_argument(
        "--after-option", type=json.loads, default={}, metavar="JSON", help="for the new one, e.g. quality"
    )
    parser.add_argument("--split", default="test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path, help="file of answers, to go on from")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so many [default: never]")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    for given in options.data:
        kind, _, folder = given.partition("=")
        for task in options.tasks.split(","):
            print(json.dumps(measure(task, kind, Path(folder), options)), flush=True)


if __name__ == "__main__":
    main()
