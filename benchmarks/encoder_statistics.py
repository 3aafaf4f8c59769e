"""What the vectors of each known encoder look like: the statistics that `unembed identify` compares with.

    python benchmarks/encoder_statistics.py embed minilm mpnet --texts a.txt.gz b.txt.gz --work vectors/
    python benchmarks/encoder_statistics.py write minilm mpnet --work vectors/ \
        -o src/unembed/assets/encoder-statistics.safetensors

`embed` takes lines from each file evenly, and chunks of several lines, because stores hold chunks; it keeps
the vectors in the work folder, an encoder that is there is not embedded again. `--held NAME=FILE` makes
further sets, which `benchmarks/identification.py` measures errors on. `write` fits the statistics.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from pathlib import Path

import numpy as np

from unembed.encoders import load_encoder
from unembed.identification.encoder_statistics import fit_statistics, write_statistics

LINES, CHUNKS = 130, 24  # of each file
CHUNK_LINES = (3, 5, 8)
HELD_OUT = 40  # lines of each file, after those
SKIP = 5000  # lines between what is fitted and what is held out


def lines(path: Path, start: int, count: int) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        chosen = [line.strip() for line in itertools.islice(file, start, start + count)]
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        return [json.loads(line)["text"] for line in chosen]
    return chosen


def reference(paths: list[Path]) -> list[str]:
    texts = []
    for path in paths:
        own = lines(path, 0, LINES + CHUNKS * max(CHUNK_LINES))
        texts += own[:LINES]
        for number in range(CHUNKS):
            size = CHUNK_LINES[number % len(CHUNK_LINES)]
            start = LINES + number * max(CHUNK_LINES)
            texts.append(" ".join(own[start : start + size]))
    return [text for text in texts if text]


def embed(options: argparse.Namespace) -> None:
    sets = {"reference": reference(options.texts)}
    for path in options.texts:
        sets[path.name.split(".")[0]] = lines(path, SKIP, HELD_OUT)
    for named in options.held:
        name, _, path = named.partition("=")
        sets[name] = lines(Path(path), 100, HELD_OUT)
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "texts.json").write_text(json.dumps(sets))
    for name in options.encoders:
        path = options.work / f"{name}.npz"
        if path.exists():
            continue
        began, encoder = time.monotonic(), load_encoder(name, device="cpu")
        np.savez(path, **{key: encoder.encode(texts) for key, texts in sets.items()})
        print(f"{name}: {sum(map(len, sets.values()))} texts in {time.monotonic() - began:.0f} s", flush=True)


def write(options: argparse.Namespace) -> None:
    fitted = []
    for name in options.encoders:
        vectors = np.load(options.work / f"{name}.npz")["reference"]
        fitted.append(fit_statistics(name, load_encoder(name, device="cpu").info.source, vectors))
    write_statistics(options.output, fitted)
    for one in fitted:
        print(
            f"{one.name}: {one.fitted_on} vectors, {one.explained:.0%} of the variance is kept in directions"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("embed", "write"))
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="one text per line, plain or .gz")
    parser.add_argument(
        "--held", action="append", default=[], metavar="NAME=FILE", help="texts to measure on"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of the vectors")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    (embed if options.action == "embed" else write)(options)


if __name__ == "__main__":
    main()
