"""How often `identify` is right, wrong, or claims nothing: on known encoders, mixtures and foreign vectors.

    python benchmarks/encoder_statistics.py embed ... --work vectors/
    python benchmarks/identification.py --work vectors/
    python benchmarks/identification.py --work vectors/ --texts 3 \
        --write src/unembed/assets/identification-errors.json

The vectors are held out: other lines of the kinds that the statistics were fitted on, and kinds and languages
that they were not. A sample is of one kind up to 32 vectors. `--texts` also compares texts; what was embedded
before is not embedded again, only texts with prefixes and cuts are. With `--write` the counts become the file
from which `identify` says how sure it is.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from unembed.encoders import load_encoder
from unembed.encoders.base import BATCH_TOKENS, Encoder, EncoderInfo
from unembed.encoders.registry import find_entry
from unembed.identification import Identification, Verdict, identify
from unembed.identification.encoder_statistics import read_statistics
from unembed.identification.known_encoders import load_plain
from unembed.identification.verdict_confidence import ROWS, case_key
from unembed.model.bundled import BUNDLED
from unembed.storage import write_json

NAMED = (Verdict.IDENTIFIED, Verdict.LIKELY)
TEXT_ROWS = (1, 8, 32)
POOL = 8  # texts of each kind that are embedded again


class Trial(NamedTuple):
    """One sample, and whether a verdict on it is right."""

    case: str
    vectors: np.ndarray  # [n, D]
    right: Callable[[Identification], bool]
    texts: list[str] | None = None
    without: str | None = None  # an encoder that is not to be known


def base(name: str) -> str:
    return name.partition("#")[0]


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def names(name: str) -> Callable[[Identification], bool]:
    return lambda found: found.verdict in NAMED and found.encoder == base(name)


def has_wrong_texts(found: Identification) -> bool:
    return found.verdict is Verdict.WRONG_TEXTS


def is_mixed(found: Identification) -> bool:
    return found.verdict is Verdict.MIXED


def claims_nothing(found: Identification) -> bool:
    return not found.claimed


class Held:
    """Held-out vectors and their texts, by encoder and kind."""

    def __init__(self, work: Path, seed: int) -> None:
        texts = json.loads((work / "texts.json").read_text())
        self.texts = {kind: own for kind, own in texts.items() if kind != "reference"}
        archives = {path.stem: np.load(path) for path in sorted(work.glob("*.npz"))}
        self.vectors = {name: {kind: own[kind] for kind in self.texts} for name, own in archives.items()}
        self.names = list(archives)
        self.rng = np.random.default_rng(seed)

    def draw(self, count: int, pool: int | None = None) -> list[tuple[str, int]]:
        """Rows of one kind, or of all where one has too few; `pool`: only the first so many of each kind."""
        kind = str(self.rng.choice(list(self.texts)))
        rows = [(kind, row) for row in range(len(self.texts[kind][:pool]))]
        if count > len(rows):
            rows = [(kind, row) for kind, own in self.texts.items() for row in range(len(own[:pool]))]
        return [rows[at] for at in self.rng.choice(len(rows), count, replace=False)]

    def of(self, name: str, rows: list[tuple[str, int]]) -> np.ndarray:
        return np.stack([self.vectors[name][kind][row] for kind, row in rows])


class Remembering:
    """An encoder that embeds each text once, and starts with those that were embedded before."""

    def __init__(self, name: str, held: Held) -> None:
        entry, self._name = find_entry(name), name
        self.info = EncoderInfo(
            name=name, dimension=entry.dimension or 0, pooling=entry.pooling, max_tokens=entry.max_tokens,
            licence=entry.licence, normalised=True, source=entry.origin, digest="",
        )  # fmt: skip
        self._known = {
            text: vector
            for kind, texts in held.texts.items()
            for text, vector in zip(texts, held.vectors[name][kind], strict=True)
        }

    @cached_property
    def _encoder(self) -> Encoder:
        return load_plain(self._name)

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new, batch_tokens=batch_tokens), strict=True))
        return np.stack([self._known[text] for text in texts])

    def tokenizer(self) -> Tokenizer:
        return self._encoder.tokenizer()


def without_texts(held: Held, count: int) -> Iterator[Trial]:
    """One trial of every case, with `count` vectors."""
    rng = held.rng
    for name in held.names:
        own = held.of(name, held.draw(count))
        dimension = own.shape[1]
        rotation = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
        yield Trial("a known encoder", own, names(name))
        yield Trial("rounded to int8", np.round(own * 127).astype(np.float32), names(name))
        yield Trial(
            "not normalised", own * rng.uniform(2, 9, size=(count, 1)).astype(np.float32), names(name)
        )
        yield Trial("an encoder left out of the known", own, claims_nothing, without=base(name))
        yield Trial("rotated at random", unit(own @ rotation), claims_nothing)
        yield Trial("numbers in another order", own[:, rng.permutation(dimension)], claims_nothing)
        yield Trial("random directions", unit(rng.normal(size=own.shape)), claims_nothing)
        if dimension > 256:
            yield Trial("cut to 256 numbers", unit(own[:, :256]), names(name))
        if count >= 8:
            half = count // 2
            other = unit(held.of(name, held.draw(half)) @ rotation)
            mixed = np.concatenate([own[: count - half], other])
            yield Trial("half of it foreign", mixed, is_mixed)
            yield Trial(
                "two foreign ones", np.concatenate([unit(own[half:] @ rotation), own[:half][:, ::-1]]),
                is_mixed,
            )  # fmt: skip
            for second in held.names:
                if base(second) != base(name) and held.of(second, held.draw(1)).shape[1] == dimension:
                    quarter = max(3, count // 4)
                    other = held.of(second, held.draw(quarter))
                    mixed = np.concatenate([own[: count - quarter], other])
                    yield Trial("a quarter of another encoder", mixed, is_mixed)


def with_texts(held: Held, count: int, encoders: Sequence[str]) -> Iterator[Trial]:
    for name in encoders:
        rows, shifted = held.draw(count, POOL), held.draw(count, POOL)
        own, texts = held.of(name, rows), [held.texts[kind][row] for kind, row in rows]
        other = [
            held.texts[kind][row if (kind, row) != its else row - 1]
            for its, (kind, row) in zip(rows, shifted, strict=True)
        ]
        rotation = np.linalg.qr(held.rng.normal(size=(own.shape[1],) * 2))[0]
        yield Trial("a known encoder", own, names(name), texts)
        yield Trial("rounded to int8", np.round(own * 127).astype(np.float32), names(name), texts)
        yield Trial("rotated at random", unit(own @ rotation), claims_nothing, texts)
        yield Trial("an encoder left out of the known", own, claims_nothing, texts, without=base(name))
        yield Trial("other texts", own, has_wrong_texts, other)
        if count < 8:
            continue
        yield Trial("texts of other rows", own, has_wrong_texts, texts[1:] + texts[:1])
        half = count // 2
        mixed = np.concatenate([own[:half], unit(own[half:] @ rotation)])
        yield Trial("half of it foreign", mixed, is_mixed, texts)


def relatives(held: Held, count: int) -> Iterator[Trial]:
    """Vectors of the bundled surrogate, a small network that was trained to give MiniLM's."""
    texts = [held.texts[kind][row] for kind, row in held.draw(count, POOL)]
    vectors = load_encoder(str(BUNDLED / "surrogate")).encode(texts)
    # Too near to be told apart; what must not happen is that it is identified.
    right = lambda found: found.verdict is not Verdict.IDENTIFIED  # noqa: E731
    yield Trial("an imitation of minilm", vectors, right, texts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of benchmarks/encoder_statistics.py")
    parser.add_argument("--trials", type=int, default=10, help="of each case, encoder and size")
    parser.add_argument("--texts", type=int, default=0, metavar="N", help="trials that compare texts as well")
    parser.add_argument(
        "--text-encoders",
        nargs="+",
        default=["minilm", "mpnet", "potion", "gte-small", "use-multilingual"],
        metavar="NAME",
        help="encoders that are compared by texts [default: %(default)s]",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="write the counts as JSON, for identify()")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    held, statistics = Held(options.work, options.seed), read_statistics()
    loaded = {name: Remembering(name, held) for name in options.text_encoders if options.texts}
    tables: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)

    def run(trial: Trial, size: int) -> None:
        known = [one for one in statistics if trial.without is None or base(one.name) != trial.without]
        dimension = trial.vectors.shape[1]
        usable = [
            encoder
            for name, encoder in loaded.items()
            if name != trial.without and encoder.info.dimension >= dimension
        ]
        found = identify(trial.vectors, trial.texts, encoders=usable, statistics=known)
        right = trial.right(found)
        outcome = "right" if right else "wrong" if found.claimed else "no claim"
        tables[trial.case, f"{size} vectors{', texts' if trial.texts else ''}"][outcome] += 1
        if found.claimed:
            counts = verdicts[case_key(found.verdict, size, texts=found.by_texts)]
            counts["claims"] += 1
            counts["wrong"] += not right

    for size in ROWS:
        for _ in range(options.trials):
            for trial in without_texts(held, size):
                run(trial, size)
    for size in TEXT_ROWS:
        for _ in range(options.texts):
            for trial in (*with_texts(held, size, options.text_encoders), *relatives(held, size)):
                run(trial, size)

    described = {
        "verdicts": {
            key: {"claims": one["claims"], "wrong": one["wrong"]} for key, one in sorted(verdicts.items())
        },
        "cases": {f"{case}, {sample}": dict(one) for (case, sample), one in tables.items()},
    }
    if options.write:
        write_json(options.write, described)
    if options.json:
        print(json.dumps(described))
        return
    samples = list(dict.fromkeys(sample for _, sample in tables))
    print(f"| case | {' | '.join(samples)} |\n|---|{'---|' * len(samples)}")
    for case in dict.fromkeys(case for case, _ in tables):
        cells = []
        for sample in samples:
            one = tables.get((case, sample), Counter())
            cells.append(" / ".join(str(one[key]) for key in ("right", "wrong", "no claim")) if one else "")
        print(f"| {case} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
