"""The table of adapters: what comes back of every encoder's vectors, by pairs, fine-tuning and encoder calls.

    unembed encoders fetch mpnet gte-small e5-small use-multilingual potion multilingual-e5-small
    python recipes/adapters/embedded.py --state state --held-out held-out
    python recipes/adapters/table.py --state state --held-out held-out --minutes 3 > table.md

HELD_OUT has a file for each kind of text (KIND.txt, `measured_texts.py`). Vectors, adapters and rows lie in
the state folder, the last two by the base's digest: a killed run goes on where it was, more samples are added
to those that are there, and another base begins anew. `--only report` prints what there is.

The other way round, an inverter of another encoder adapted to MiniLM:

    python recipes/adapters/table.py --state state --held-out held-out --base models/use-ten \\
        --encoders minilm --sizes 1000,5000 --only plain,native
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import torch
from embedded import ENCODERS, MOST, Embedded, held_out_texts
from fitted import BASE_DIGITS, Fitted
from table_report import BASE_NAME, TIMES_NAME, Report, Timed
from table_rows import Measuring, Run, Text, interleaved

from unembed.adaptation.fit_adapter import adapt
from unembed.encoders import Encoder, load_encoder
from unembed.inverter import Inverter
from unembed.model.checkpoint import Checkpoint
from unembed.storage import JsonRowLog, digest_json, write_json
from unembed.vectors.identity import result_identity

PARTS = ("plain", "native", "tuned", "guided", "time")
KINDS = ("short", "sts", "bank", "mail")  # the pairs are like the first
SENTENCE = "I would like to live in a quiet house near the sea."
Load = Callable[[str], Encoder]


class Table:
    """The runs of one base: where they lie, and how they are measured."""

    def __init__(
        self,
        state: Path,
        held_out: Mapping[str, Sequence[str]],
        *,
        base: Path | None = None,
        most: int = MOST,
        seed: int = 0,
        load: Load = load_encoder,
        quiet: bool = False,
    ) -> None:
        self._state, self._held_out, self._base, self._seed = state, held_out, base, seed
        self._load, self._quiet = load, quiet
        self.fitted = Fitted(base, state, load, most=most, quiet=quiet)
        native = self.fitted.native
        self.native = native.name
        self._embedded = {native.name: native}
        identity = result_identity(self.fitted.base, native.encoder)
        self.folder = state / "tables" / digest_json(identity)[:BASE_DIGITS]
        about = {"name": self.fitted.name, "digest": self.fitted.digest, "encoder": native.name}
        write_json(self.folder / BASE_NAME, {**about, "identity": identity})

    def embedded(self, name: str) -> Embedded:
        if name not in self._embedded:
            self._embedded[name] = Embedded(name, self._state, self._load, quiet=self._quiet)
        return self._embedded[name]

    def model(self, run: Run) -> Checkpoint:
        """The base itself, or the adapter, which is fitted if it is not there."""
        if run.size is None:
            return self.fitted.base
        return self.fitted.adapter(self.embedded(run.encoder), run.size, minutes=run.minutes)

    def plain(self, runs: Iterable[Run], samples: int) -> None:
        """One run after the other, on so many texts of each kind."""
        texts = interleaved(self._held_out, samples)
        for run in runs:
            self._measure(self._measuring(run), texts, len(texts))

    def guided(self, runs: Iterable[Run], samples: int) -> None:
        """All runs in turn, a text of each kind at a time: wherever it ends, all have as many texts."""
        texts, kinds = interleaved(self._held_out, samples)[:samples], len(self._held_out)
        loaded = [self._measuring(run) for run in runs]
        for last in range(kinds, len(texts) + kinds, kinds):
            for measuring in loaded:
                self._measure(measuring, texts[:last], len(texts))

    def time(self, encoders: Iterable[str], pairs: int) -> None:
        """From an encoder's name to the first sentence of its vectors, on the clock."""
        with JsonRowLog(self.folder / TIMES_NAME, Timed) as log:
            there = {(one.encoder, one.pairs) for one in log.rows}
            for name in encoders:
                if (name, pairs) not in there:
                    self._tell(f"{name}: the first sentence, with {pairs:,} pairs")
                    log.append([first_sentence(name, self.native, pairs, self._base, self._load)])

    def _measuring(self, run: Run) -> Measuring:
        encoder = self.embedded(run.encoder).encoder
        inverter = Inverter(self.model(run), encoder=encoder, base_encoder=self.embedded(self.native).encoder)
        return Measuring(run, inverter, encoder, self.folder / run.name, seed=self._seed)

    def _measure(self, measuring: Measuring, texts: Sequence[Text], of: int) -> None:
        run = measuring.run
        vectors = {kind: self.embedded(run.encoder).kind(kind, some) for kind, some in self._held_out.items()}
        for done in measuring.measure(texts, [vectors[text.kind][text.number] for text in texts]):
            self._tell(f"{run.name}: {done:,} of {of:,}")

    def _tell(self, text: str) -> None:
        if not self._quiet:
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def first_sentence(name: str, native: str, pairs: int, base: Path | None, load: Load) -> Timed:
    """How long somebody waits who has an encoder on this machine and nothing else, Python's start apart."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        encoder = load(name)
        adapt(encoder, folder, pairs=pairs, base=base, base_encoder=load(native))
        fitted = time.perf_counter()
        Inverter.from_pretrained(folder).invert(encoder.encode([SENTENCE]), check=False)
        inverted = time.perf_counter()
    return Timed(
        encoder=name,
        pairs=pairs,
        fitting=fitted - began,
        inverting=inverted - fitted,
        threads=torch.get_num_threads(),
        load=busy,
    )


def measure(options: argparse.Namespace, load: Load = load_encoder) -> Path:
    """Everything that was asked for; the folder of the base's runs."""
    pairs, calls = options.guided_pairs, tuple(sorted(set(options.calls)))
    table = Table(
        options.state,
        held_out_texts(options.held_out, options.kinds),
        base=options.base,
        most=max(*options.sizes, pairs),
        seed=options.seed,
        load=load,
        quiet=options.quiet,
    )
    others = [name for name in options.encoders if name != table.native]
    if "native" in options.only:
        table.plain([Run(encoder=table.native, size=None)], options.samples)
    if "plain" in options.only:
        table.plain(
            (Run(encoder=name, size=size) for name in others for size in options.sizes), options.samples
        )
    if "tuned" in options.only and options.minutes:
        table.plain(
            (Run(encoder=name, size=pairs, minutes=options.minutes) for name in others), options.samples
        )
    if "guided" in options.only:
        runs = [Run(encoder=name, size=pairs, calls=calls) for name in others]
        table.guided([*runs, Run(encoder=table.native, size=None, calls=calls)], options.guided_samples)
    if "time" in options.only:
        table.time(others, pairs)
    return table.folder


def _names(typed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in typed.split(",") if part.strip())


def _numbers(typed: str) -> tuple[int, ...]:
    return tuple(int(part.replace("_", "")) for part in _names(typed))


def options(typed: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    say = parser.add_argument
    say("--state", type=Path, required=True, help="Folder for vectors, adapters and rows.")
    say("--held-out", type=Path, required=True, help="Folder of KIND.txt.")
    say("--base", type=Path, help="Model to adapt. [default: the bundled one]")
    say("--encoders", type=_names, default=tuple(ENCODERS), help="NAME,...")
    say("--kinds", type=_names, default=KINDS, help="KIND,...")
    say("--sizes", type=_numbers, default=(1_000, 5_000, MOST), help="Pairs, with the vector alone.")
    say("--samples", type=int, default=300, help="Texts of each kind, with the vector alone.")
    say("--minutes", type=float, default=0.0, help="Of fine-tuning: a column of its own. 0: without.")
    say("--guided-pairs", type=int, default=5_000, help="Pairs of what is searched, fine-tuned or timed.")
    say("--guided-samples", type=int, default=40, help="Texts of all kinds that are searched for.")
    say("--calls", type=_numbers, default=(0, 50, 200, 500, 2_000), help="Encoder calls at most.")
    say("--seed", type=int, default=0)
    say("--only", type=_names, default=PARTS, help=f"Some of {','.join(PARTS)}; report: nothing else.")
    say("--quiet", action="store_true")
    return parser.parse_args(typed)


def main() -> None:
    chosen = options()
    folder = measure(chosen)
    order = tuple(chosen.encoders)
    sys.stdout.write(Report(folder, order=order, kinds=chosen.kinds).markdown() + "\n")


if __name__ == "__main__":
    main()
