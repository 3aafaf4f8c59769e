"""What the recipes of this folder embed, once: pairs of the package's texts, and the texts to be measured.

    python recipes/adapters/embedded.py --state state --held-out held-out

Vectors depend on an encoder and a text and on no model: they stay for every later bundled model. They lie in
STATE/vectors/ENCODER/pairs, and for each held-out/KIND.txt in STATE/vectors/ENCODER/KIND. A killed run goes
on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.pairs import Pairs, embed_pairs
from unembed.encoders import Encoder, load_encoder
from unembed.encoders.registry import DEFAULT
from unembed.storage import digest_json

MOST = 20_000  # pairs; the package's texts are a few less
# Encoder -> how many of the default texts are embedded; a large one is slow on a processor.
ENCODERS = {
    "mpnet": 12_000,
    "gte-small": MOST,
    "e5-small": MOST,
    "multilingual-e5-small": MOST,
    "use-multilingual": MOST,
    "potion": MOST,
}

Vectors = NDArray[np.float32]


def pair_texts(encoder: str) -> list[str]:
    """The texts that are embedded for an encoder, in the order in which fewer of them are taken."""
    return default_texts(ENCODERS.get(encoder, MOST), lambda texts: [True] * len(texts))


def held_out_texts(folder: Path, kinds: Sequence[str] = ()) -> dict[str, list[str]]:
    """The texts to be measured by kind, of the kinds that are named, or of all."""
    found = kinds or sorted(path.stem for path in folder.glob("*.txt"))
    return {kind: (folder / f"{kind}.txt").read_text(encoding="utf-8").splitlines() for kind in found}


class Embedded:
    """The vectors of one encoder in the state folder; it is loaded only for those that are not there."""

    def __init__(
        self, name: str, state: Path, load: Callable[[str], Encoder] = load_encoder, *, quiet: bool = False
    ) -> None:
        self.name, self._load, self._quiet = name, load, quiet
        self._folder = state / "vectors" / name
        self._encoder: Encoder | None = None

    @property
    def encoder(self) -> Encoder:
        if self._encoder is None:
            self._encoder = self._load(self.name)
        return self._encoder

    def pairs(self, texts: Sequence[str]) -> Pairs:
        return embed_pairs(texts, self.encoder, self._folder / "pairs", quiet=self._quiet)

    def kind(self, kind: str, texts: Sequence[str]) -> Vectors:
        return embed_pairs(texts, self.encoder, self._folder / kind, quiet=self._quiet).vectors


def first(pairs: Pairs, count: int, fits: Callable[[Sequence[str]], list[bool]]) -> Pairs:
    """The first `count` pairs that a base can write: what `unembed adapt` takes."""
    rows = np.nonzero(fits(pairs.texts))[0][:count]
    texts = [pairs.texts[row] for row in rows]
    return Pairs(texts, pairs.vectors[rows], digest_json(texts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="Folder for vectors.")
    parser.add_argument("--held-out", type=Path, required=True, help="Folder of KIND.txt.")
    parser.add_argument("--encoders", default=",".join((DEFAULT, *ENCODERS)))
    args = parser.parse_args()
    held_out = held_out_texts(args.held_out)
    for name in args.encoders.split(","):
        began, embedded = time.perf_counter(), Embedded(name, args.state)
        for kind, texts in held_out.items():
            embedded.kind(kind, texts)
        pairs = embedded.pairs(pair_texts(name))
        minutes = (time.perf_counter() - began) / 60
        sys.stderr.write(f"{name}: {len(pairs.texts):,} pairs are there, after {minutes:.1f} minutes\n")


if __name__ == "__main__":
    main()
