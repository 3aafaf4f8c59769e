"""Adapters that ship with the package: fit one for every encoder that can be fetched, and measure it.

    unembed encoders fetch mpnet gte-small e5-small use-multilingual potion multilingual-e5-small
    python recipes/adapters/ship.py --state state --held-out held-out

Run it again after the bundled model has changed: the vectors lie in the state folder, and only fits and
measurements are repeated. HELD_OUT has a file for each kind of text that is measured (KIND.txt, one text a
line). The table on stdout is that of docs/adapters.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.fit_adapter import fit_adapter
from unembed.adaptation.pairs import Pairs, embed_pairs
from unembed.encoders import Encoder, load_encoder
from unembed.encoders.base import BATCH_TOKENS
from unembed.inverter import Inverter
from unembed.metrics.base import Pair
from unembed.metrics.exact import ExactMatch
from unembed.metrics.f1 import TokenF1
from unembed.metrics.figure import Figure, measure
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.adapter import Measured, Rate
from unembed.model.bundled import BUNDLED
from unembed.model.card import adapter_card
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import CARD
from unembed.model.shipped import SHIPPED

# Encoder -> how many of the default texts are embedded; the large ones are slow on a processor.
ENCODERS = {
    "mpnet": 6_000,
    "gte-small": 6_000,
    "e5-small": 6_000,
    "multilingual-e5-small": 6_000,
    "use-multilingual": 20_000,
    "potion": 20_000,
}
LICENCE = "apache-2.0"


class Remembering:
    """The base's encoder with the vectors that it made before."""

    def __init__(self, encoder: Encoder, texts: Sequence[str], folder: Path) -> None:
        self.info, self._encoder = encoder.info, encoder
        pairs = embed_pairs(texts, encoder, folder, quiet=False)
        self._vectors = dict(zip(pairs.texts, pairs.vectors, strict=True))

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        return np.stack([self._vectors[text] for text in texts])

    def tokenizer(self):  # type: ignore[no-untyped-def]
        return self._encoder.tokenizer()


def recovered(model: Checkpoint, texts: Sequence[str], vectors: NDArray[np.float32], kind: str) -> Measured:
    """What the model finds of the texts from their vectors alone."""
    found = Inverter(model).invert(vectors, check=False)
    targets = model.tokenizer.encode_batch(list(texts), add_special_tokens=False)
    back = model.tokenizer.encode_batch([one.text for one in found], add_special_tokens=False)
    pairs = [
        Pair(
            target=text,
            recovered=one.text,
            target_tokens=tuple(a.ids),
            recovered_tokens=tuple(b.ids),
            language="en",
        )
        for text, one, a, b in zip(texts, found, targets, back, strict=True)
    ]
    f1, exact = measure(TokenF1(), pairs), measure(ExactMatch(), pairs)
    return Measured(texts=kind, n=len(pairs), token_f1=_rate(f1), exact_match=_rate(exact))


def _rate(figure: Figure) -> Rate:
    numbers = (figure.value, figure.low, figure.high)
    return Rate(
        **{name: round(x or 0.0, 4) for name, x in zip(("value", "low", "high"), numbers, strict=True)}
    )


def figures(measured: Sequence[Measured]) -> str:
    """A card's table of what was measured."""
    rows = [
        f"| {one.texts} | {one.n} | {_percent(one.token_f1)} | {_percent(one.exact_match)} |"
        for one in measured
    ]
    head = ["| held-out texts | n | token F1 % | exact match % |", "|---|---|---|---|"]
    words = "From the vector alone, the length unknown, 95 % bootstrap intervals:"
    return "\n".join(["## What comes back", "", words, "", *head, *rows])


def _percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="Folder for vectors.")
    parser.add_argument("--held-out", type=Path, required=True, help="Folder of KIND.txt.")
    parser.add_argument("--samples", type=int, default=300, help="Of each kind.")
    parser.add_argument("--encoders", default=",".join(ENCODERS))
    parser.add_argument("--sizes", default="", help="Measure with so many pairs as well: 1000,5000")
    parser.add_argument("--minutes", type=float, default=0.0, help="Of fine-tuning, for each fit.")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    args = parser.parse_args()
    held_out = {
        path.stem: path.read_text(encoding="utf-8").splitlines()
        for path in sorted(args.held_out.glob("*.txt"))
    }
    base = Checkpoint.from_pretrained(BUNDLED)
    every = default_texts(max(ENCODERS.values()), lambda texts: [True] * len(texts))
    vectors = args.state / "vectors"
    own = base.config.encoder.name
    native = Remembering(load_encoder(own), every, vectors / own / "pairs")
    header = [
        "encoder",
        "pairs",
        "explained %",
        *(f"{kind} F1 %" for kind in held_out),
        "mean F1 %",
        "exact %",
    ]
    sys.stdout.write(f"| {' | '.join(header)} |\n|{'---|' * len(header)}\n")
    for kind, texts in held_out.items():  # for benchmarks/adapter_maps.py
        embed_pairs(texts, load_encoder(own), vectors / own / kind, quiet=False)
    for name in args.encoders.split(","):
        encoder = load_encoder(name)
        pairs = embed_pairs(every[: ENCODERS[name]], encoder, vectors / name / "pairs", quiet=False)
        targets = {
            kind: embed_pairs(texts, encoder, vectors / name / kind, quiet=False).vectors
            for kind, texts in held_out.items()
        }
        sizes = [int(size) for size in args.sizes.split(",") if size]
        for size in [*(size for size in sizes if size < len(pairs.texts)), len(pairs.texts)]:
            began = time.perf_counter()
            some = Pairs(pairs.texts[:size], pairs.vectors[:size], pairs.digest)
            config, weights = fit_adapter(base, native, some, encoder.info, minutes=args.minutes)
            seconds = time.perf_counter() - began
            model = AdaptedCheckpoint(base, config, weights)
            measured = tuple(
                recovered(model, texts[: args.samples], targets[kind][: args.samples], kind)
                for kind, texts in held_out.items()
            )
            f1 = [one.token_f1.value for one in measured]
            exact = np.mean([one.exact_match.value for one in measured])
            cells = [name, f"{size:,}", f"{100 * config.fit['explained']:.0f}"]
            cells += [_percent(one.token_f1) for one in measured]
            sys.stdout.write(f"| {' | '.join(cells)} | {100 * np.mean(f1):.1f} | {100 * exact:.1f} |\n")
            sys.stdout.flush()
            sys.stderr.write(f"{name}: {size:,} pairs fitted in {seconds:.0f} s\n")
        # The last one, of all pairs, ships.
        config = config.model_copy(update={"measured": measured, "licence": LICENCE})
        folder = args.output / name
        (folder / CARD).unlink(missing_ok=True)
        AdaptedCheckpoint(base, config, weights).save_pretrained(folder)
        (folder / CARD).write_text(adapter_card(config, figures(measured)), encoding="utf-8")


if __name__ == "__main__":
    main()
