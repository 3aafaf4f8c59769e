"""What a guided search finds for an encoder of which there are few pairs or none, with and without refitting.

    python benchmarks/zero_pairs.py --encoder gte-small --texts texts.txt --samples 16 --calls 200,500 \
        --log runs/zero-pairs.jsonl

Each of `--pairs` is an adapter on the first texts that come with the package, 0 one without pairs. `--refit`:
1, its map is refitted by the search, 0, it is not. Texts are drawn from a file with one a line, by seed, of 4
to 16 tokens; the length is unknown. A search with the largest budget is read at the smaller ones.

What is found is noted in `--log`, and the same command goes on where it stopped. The log names base and
encoder by their digests: with another base it begins anew. `--minutes` ends it, and prints what there is.
Intervals are 95 % bootstrap intervals over the texts. The calls include those for the first texts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.fit_adapter import fit_adapter, without_pairs
from unembed.adaptation.pairs import Pairs, writable_by
from unembed.encoders import load_encoder
from unembed.encoders.base import Encoder
from unembed.inverter import Inverter
from unembed.metrics.base import column
from unembed.metrics.exact import ExactMatch, exact_match
from unembed.metrics.f1 import TokenF1, token_f1
from unembed.metrics.figure import Figure, estimate
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.parts import WEIGHTS

REFIT = 1_000_000  # pairs: below that, every adapter's map is refitted


def draw(inverter: Inverter, path: Path, count: int, seed: int) -> list[str]:
    """Texts of 4 to 16 tokens, each once."""
    lines = sorted({line.strip() for line in path.read_text(encoding="utf-8").splitlines()})
    np.random.default_rng(seed).shuffle(lines)
    found = inverter.checkpoint.tokenizer.encode_batch(lines, add_special_tokens=False)
    return [text for text, one in zip(lines, found, strict=True) if 4 <= len(one.ids) <= 16][:count]


def adapted(base: Inverter, encoder: Encoder, pairs: int) -> Inverter:
    """The base behind an adapter on so many pairs."""
    model, native = base.checkpoint, base.encoder
    if pairs:
        texts = default_texts(pairs, writable_by(model))
        config, weights = fit_adapter(model, native, Pairs(texts, encoder.encode(texts), ""), encoder.info)
    else:
        config, weights = without_pairs(model, encoder.info)
    return Inverter(AdaptedCheckpoint(model, config, weights), encoder=encoder, base_encoder=native)


def search(
    inverter: Inverter, encoder: Encoder, texts: list[str], calls: list[int], options: dict[str, Any]
) -> list[list[dict[str, Any]]]:
    """For each text what was found within each number of calls."""
    most = max(calls)
    found = inverter.invert(
        encoder.encode(texts),
        strategy="guided",
        max_encoder_calls=most,
        report_at=tuple(sorted(set(calls) - {most})),
        **options,
    )
    out = []
    for text, one in zip(texts, found, strict=True):
        rows = [
            {"calls": then.calls, "found": then.text, "cosine": then.cosine, "tokens": list(then.tokens)}
            for then in one.at_calls
        ]
        rows.append(
            {
                "calls": one.encoder_calls,
                "found": one.text,
                "cosine": one.cosine,
                "tokens": list(one.tokens),
            }
        )
        known = inverter.checkpoint.tokenizer.encode(text, add_special_tokens=False).ids
        out.append(
            [
                {
                    **row,
                    "text": text,
                    "budget": budget,
                    "exact": exact_match(text, row["found"]),
                    "f1": token_f1(known, row["tokens"]),
                }
                for budget, row in zip(sorted(calls), rows, strict=True)
            ]
        )
    return out


def shown(figure: Figure, scale: float = 100.0) -> str:
    edges = "" if figure.low is None or figure.high is None else (
        f" [{scale * figure.low:.1f}, {scale * figure.high:.1f}]"
    )  # fmt: skip
    return f"{scale * figure.value:.1f}{edges}"


def table(rows: list[dict[str, Any]], pairs: list[int], refits: list[int], calls: list[int]) -> str:
    """As Markdown."""
    out = [
        "| pairs | refit | calls at most | n | token F1 % | exact match % | cosine | mean calls |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for count in pairs:
        for refit in refits:
            for budget in sorted(calls):
                some = [
                    row
                    for row in rows
                    if (row["pairs"], row["refit"], row["budget"]) == (count, refit, budget)
                ]
                if not some:
                    continue
                f1 = estimate(TokenF1(), column([row["f1"] for row in some]))
                exact = estimate(ExactMatch(), column([row["exact"] for row in some]))
                cosine, used = (np.mean([row[key] for row in some]) for key in ("cosine", "calls"))
                out.append(
                    f"| {count:,} | {'yes' if refit else 'no'} | {budget:,} | {len(some)} | {shown(f1)} | "
                    f"{shown(exact)} | {cosine:.3f} | {used:.0f} |"
                )
    return "\n".join(out)


def gains(rows: list[dict[str, Any]], pairs: list[int], calls: list[int]) -> list[str]:
    """What refitting adds on the texts that were searched for both ways, with the interval of the mean."""
    out = []
    for count in pairs:
        for budget in sorted(calls):
            ways: list[dict[str, dict[str, Any]]] = [
                {
                    row["text"]: row
                    for row in rows
                    if (row["pairs"], row["refit"], row["budget"]) == (count, refit, budget)
                }
                for refit in (0, 1)
            ]
            both = [text for text in ways[0] if text in ways[1]]
            draws = np.random.default_rng(0).integers(len(both), size=(2000, len(both))) if both else []
            for key, scale in (("f1", 100), ("cosine", 1)):
                more = np.array([scale * (ways[1][text][key] - ways[0][text][key]) for text in both])
                if len(more) < 2:
                    continue
                low, high = np.quantile(more[draws].mean(axis=1), [0.025, 0.975]).tolist()
                out.append(
                    f"{count:,} pairs, {budget:,} calls: refitting adds {more.mean():+.3f} "
                    f"[{low:+.3f}, {high:+.3f}] to {key}, n = {len(more)}"
                )
    return out


def numbers(typed: str) -> list[int]:
    return [int(part) for part in typed.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default="gte-small")
    parser.add_argument(
        "--texts", type=Path, required=True, help="one a line, none that the base learnt from"
    )
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=numbers, default=[0, 200, 1000])
    parser.add_argument("--refit", type=numbers, default=[0, 1])
    parser.add_argument("--calls", type=numbers, default=[200, 500])
    parser.add_argument("--option", action="append", default=[], metavar="NAME=NUMBER", help="of the search")
    parser.add_argument("--batch", type=int, default=4, help="texts that are searched for together")
    parser.add_argument("--minutes", type=float, default=0.0, help="[default: until it is done]")
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args()
    more = {name: int(value) for name, _, value in (one.partition("=") for one in options.option)}
    base, encoder = Inverter.from_pretrained(), load_encoder(options.encoder)
    texts = draw(base, options.texts, options.samples, options.seed)
    key = [base.checkpoint.config.digests[WEIGHTS][:12], encoder.info.digest[:12], options.calls, more]
    options.log.parent.mkdir(parents=True, exist_ok=True)
    lines = options.log.read_text(encoding="utf-8").splitlines() if options.log.exists() else []
    rows = [row for row in map(json.loads, lines) if row["key"] == key and row["text"] in texts]
    done = {(row["pairs"], row["refit"], row["text"]) for row in rows}
    began = time.monotonic()
    models: dict[int, Inverter] = {}
    # Some texts of every setting before the next texts, so that what there is can be compared.
    for first in range(0, len(texts), options.batch):
        for pairs in options.pairs:
            for refit in options.refit:
                part = [
                    text for text in texts[first : first + options.batch] if (pairs, refit, text) not in done
                ]
                if not part or (options.minutes and time.monotonic() - began > 60 * options.minutes):
                    continue
                model = models[pairs] = models.get(pairs) or adapted(base, encoder, pairs)
                found = search(model, encoder, part, options.calls, {**more, "refit_below": REFIT * refit})
                new = [{"key": key, "pairs": pairs, "refit": refit, **row} for one in found for row in one]
                with options.log.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in new)
                rows += new
    print(table(rows, options.pairs, options.refit, options.calls))
    print("\n".join(gains(rows, options.pairs, options.calls)))


if __name__ == "__main__":
    main()
