"""The texts that adapters are measured on: so many of each kind, of 4 to 16 tokens, none among the pairs.

    unembed data texts data/short --split test > short-test.txt
    python recipes/adapters/measured_texts.py short=short-test.txt sts=sts.txt bank=bank.txt -o held-out

Writes held-out/KIND.txt, one text a line, drawn at random: the first N of a file are a sample of all.
`ship.py` and `table.py` read them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from unembed.adaptation.default_texts import default_texts
from unembed.data.collect import clean
from unembed.data.normalise import text_keys
from unembed.data.sources import parse_source
from unembed.model.bundled import BUNDLED
from unembed.storage import atomic_write
from unembed.text import tokenise

LEAST, MOST = 4, 16  # tokens


def measured_texts(
    texts: Iterable[str], taken: Sequence[str], count: int, tokenizer: Tokenizer, *, seed: int = 0
) -> list[str]:
    """`count` of the texts at random, each once, of the wanted lengths, none of them one of `taken`."""
    every = [text for text in dict.fromkeys(map(clean, texts)) if text]
    seen = set(text_keys(taken).tolist())
    order = np.random.default_rng(seed).permutation(len(every))
    chosen: list[str] = []
    for row in order:
        text = every[row]
        if len(chosen) == count:
            break
        [key] = text_keys([text]).tolist()
        if key not in seen and LEAST <= len(tokenise(tokenizer, [text])[0]) <= MOST:
            seen.add(key)
            chosen.append(text)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+", metavar="KIND=PATH")
    parser.add_argument("--count", type=int, default=300, help="Of each kind.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    pairs = default_texts(sys.maxsize, lambda texts: [True] * len(texts))
    args.output.mkdir(parents=True, exist_ok=True)
    for source in args.sources:
        kind, _, path = source.partition("=")
        chosen = measured_texts(
            parse_source(path, field="text").texts(), pairs, args.count, tokenizer, seed=args.seed
        )
        with atomic_write(args.output / f"{kind}.txt") as file:
            file.write("".join(f"{text}\n" for text in chosen).encode())
        sys.stderr.write(f"{kind}: {len(chosen):,} texts\n")


if __name__ == "__main__":
    main()
