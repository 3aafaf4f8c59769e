"""Texts to measure defences on: of each corpus some that a split by key holds out, and others around them.

    python benchmarks/defence_texts.py en-short=en_short.txt.gz:4-16 en-long=en_wiki.txt.gz:17-32 -o texts
    unembed prepare --source en-short=texts/en-short.txt --source en-long=texts/en-long.txt -o data/defences

A share of a hundredth for testing is what `unembed prepare` holds out by default, and what the bundled model
was not trained on. To get hundreds of such texts one would have to embed tens of thousands; so they are
picked here by the same key. The others become the known pairs and the attacker's own texts.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

from unembed.data.collect import clean
from unembed.data.normalise import normalise, text_keys
from unembed.data.split import SPLITS, split_labels
from unembed.model.bundled import BUNDLED
from unembed.model.parts import TOKENIZER
from unembed.text import tokenise

SHARE = 0.01  # for testing and for validation, the defaults of `unembed prepare`


def pick(path: Path, shortest: int, longest: int, held_out: int, others: int, seed: int) -> list[str]:
    """So many texts of the test side and of the training side, of these lengths, in random order."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(BUNDLED / TOKENIZER))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = list({normalise(line): clean(line) for line in file}.values())
    labels = split_labels(text_keys(lines), validation_share=SHARE, test_share=SHARE)
    out = []
    for side, count in (("test", held_out), ("train", others)):
        rows = np.nonzero(labels == SPLITS.index(side))[0]
        rows = np.random.default_rng(seed).permutation(rows)
        some: list[str] = []
        for first in range(0, len(rows), 4096):
            part = [lines[row] for row in rows[first : first + 4096]]
            lengths = [len(ids) for ids in tokenise(tokenizer, part)]
            some += [text for text, n in zip(part, lengths, strict=True) if shortest <= n <= longest]
            if len(some) >= count:
                break
        out += some[:count]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpora", nargs="+", metavar="KIND=FILE:SHORTEST-LONGEST")
    parser.add_argument("--held-out", type=int, default=330, help="Texts of the test side, per corpus.")
    parser.add_argument("--others", type=int, default=3500, help="Texts of the training side, per corpus.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    typed = parser.parse_args()
    typed.output.mkdir(parents=True, exist_ok=True)
    for corpus in typed.corpora:
        kind, _, rest = corpus.partition("=")
        path, _, lengths = rest.rpartition(":")
        shortest, longest = map(int, lengths.split("-"))
        texts = pick(Path(path), shortest, longest, typed.held_out, typed.others, typed.seed)
        (typed.output / f"{kind}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
        print(f"{kind}: {len(texts):,} texts")


if __name__ == "__main__":
    main()
