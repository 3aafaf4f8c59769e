"""Which map from another encoder's vectors to the bundled model's does its lexical head read best?

    python recipes/adapters/ship.py --state state --held-out held-out     # embeds, and keeps the vectors
    python benchmarks/adapter_maps.py --state state --held-out held-out --encoder gte-small --pairs 1000,5000

For every map: the share of held-out texts' words among as many that the head holds likeliest, mean over the
kinds of text (held-out/KIND.txt). No text is decoded: that takes minutes, this takes seconds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unembed.adaptation.default_texts import default_texts
from unembed.adaptation.map_training import train_map
from unembed.adaptation.tuned_map import LEAST_PAIRS, fit_map, found_words, loudness, words_of
from unembed.model.bundled import BUNDLED
from unembed.model.checkpoint import Checkpoint
from unembed.model.ridge import Ridge, fit_ridge

Map = Callable[[Tensor], Tensor]
STEPS, BATCH, NEGATIVES = 300, 64, 3000


def maps(
    base: Checkpoint, x: Tensor, y: Tensor, texts: list[str], minutes: float
) -> Iterator[tuple[str, Map]]:
    """Every map by name, fitted on x [n, p] and y [n, q]."""
    ridge = fit_ridge(x, y)
    spread = float((x - x.mean(dim=0)).double().square().sum() / x.numel())

    def scaled(one: Ridge, matrix: Tensor, energy: float = 1.0) -> Map:
        mapped = (x - one.mean) @ matrix
        gain = math.sqrt(energy * float((y - one.shift).square().mean() / mapped.square().mean()))
        return lambda v: (v - one.mean) @ (gain * matrix) + one.shift

    yield "ridge, strength of the least error, as it is", ridge
    for energy in (0.5, 0.8, 1.0, 1.3):
        yield f"the same, energy {energy}", scaled(ridge, ridge.matrix, energy)
    for weaker in (0.3, 0.1, 0.03):
        less = fit_ridge(x, y, (weaker * ridge.strength / spread,))
        yield f"strength x {weaker}, energy 1.0", scaled(less, less.matrix)
    centred, targets = x - ridge.mean, y - ridge.shift
    mapped = ridge(x) - ridge.shift
    yield "a gain for each coordinate", scaled(ridge, ridge.matrix * (targets.std(0) / mapped.std(0)))
    _, axes = torch.linalg.eigh(mapped.T @ mapped)
    for rank in (64, 128, 256):
        some = axes[:, -rank:]
        yield f"low rank: {rank}", scaled(ridge, ridge.matrix @ some @ some.T)
    variance, directions = torch.linalg.eigh((centred.T @ centred / len(x)).double())
    white = (directions / (variance + ridge.strength).sqrt()).float()  # [p, p]
    u, s, v = torch.linalg.svd((centred @ white).T @ targets / len(x), full_matrices=False)
    yield "whitened, correlations to the power 0.5", scaled(ridge, white @ (u * s**0.5) @ v)
    yield "whitened, rotated (Procrustes)", scaled(ridge, white @ u @ v)
    yield "ridge and a Gaussian kernel on its errors", _kernel(ridge, x, y)
    yield "ridge, then trained on the heads' losses", _trained(base, ridge, x, y, texts)
    tuned = fit_map(base, x, y, texts)
    yield "**chosen on pairs set aside (unembed adapt)**", tuned
    if minutes and len(x) >= LEAST_PAIRS:
        change, _ = train_map(base, tuned, x, y, texts, minutes=minutes)
        yield (
            f"the same, fine-tuned (unembed adapt --minutes {minutes:g})",
            lambda v: tuned(v) + change(v - tuned.ridge.mean),
        )


def _kernel(ridge: Ridge, x: Tensor, y: Tensor) -> Map:
    """Kernel ridge regression of what the linear map leaves over, at energy 1."""
    scale = float((x - ridge.mean).square().sum(dim=1).mean().sqrt())

    def kernel(a: Tensor) -> Tensor:
        return torch.exp(-3.0 * torch.cdist(a / scale, x / scale).square())

    solved = torch.linalg.cholesky(kernel(x) + 0.3 * torch.eye(len(x)))
    weights = torch.cholesky_solve(y - ridge(x), solved)  # [n, q]
    # Its predictions of its own pairs are too good to scale by: the linear part's gain is taken.
    gain = loudness(ridge, x, y, 1.0)
    return lambda v: gain * (ridge(v) - ridge.shift + kernel(v) @ weights) + ridge.shift


def _trained(base: Checkpoint, ridge: Ridge, x: Tensor, y: Tensor, texts: list[str]) -> Map:
    """The matrix trained by Adam so that the lexical and the length head err least; the heads stay."""
    denoiser = base.denoiser
    assert denoiser.lexical is not None
    assert denoiser.length_head is not None
    weight, bias = denoiser.lexical.down.weight, denoiser.lexical.down.bias
    words, draw = words_of(base, texts), torch.Generator().manual_seed(0)
    lengths = torch.tensor([min(denoiser.config.max_length, len(some)) for some in words])
    spread = float((x - ridge.mean).square().mean().sqrt())
    matrix = (spread * loudness(ridge, x, y, 1.0) * ridge.matrix).requires_grad_()
    shift = ridge.shift.clone().requires_grad_()
    optimiser = torch.optim.Adam([matrix, shift], lr=1e-4)
    for step in range(STEPS):
        rows = torch.randint(len(x), (BATCH,), generator=draw)
        standard = (x[rows] - ridge.mean) / spread @ matrix + shift
        present = torch.unique(torch.cat([words[row] for row in rows]))
        others = torch.randint(len(bias), (NEGATIVES,), generator=draw)
        entries = torch.cat([present, others])
        logits = denoiser.lexical(standard, (weight[entries], bias[entries]))  # [B, C]
        target = torch.zeros_like(logits)
        for number, row in enumerate(rows):
            target[number, torch.searchsorted(present, words[row])] = 1.0
        worth = torch.ones(len(entries))
        worth[len(present) :] = len(bias) / NEGATIVES
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none") * worth
        lexical = (each.sum(dim=1) / lengths[rows].clamp(min=1)).mean()
        length = F.cross_entropy(denoiser.length_head(standard), lengths[rows])
        for group in optimiser.param_groups:
            group["lr"] = 1e-4 * (1 - step / STEPS)
        optimiser.zero_grad()
        (lexical + 0.3 * length).backward()
        optimiser.step()
    final, moved = (matrix / spread).detach(), shift.detach()
    return lambda v: (v - ridge.mean) @ final + moved


def load(folder: Path) -> Tensor:
    """Vectors that the recipe kept."""
    return torch.from_numpy(np.concatenate([np.load(path) for path in sorted(folder.glob("vectors-*.npy"))]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--pairs", default="1000,5000")
    parser.add_argument("--minutes", type=float, default=0.0, help="Of fine-tuning; 0: without that row.")
    parser.add_argument("--samples", type=int, default=300, help="Of each kind.")
    args = parser.parse_args()
    base = Checkpoint.from_pretrained(BUNDLED)
    base.denoiser.requires_grad_(False)
    vectors = args.state / "vectors"
    own = load(vectors / base.config.encoder.name / "pairs")
    theirs = load(vectors / args.encoder / "pairs")
    texts = default_texts(len(theirs), lambda some: [True] * len(some))
    kinds = {
        path.stem: words_of(base, path.read_text(encoding="utf-8").splitlines()[: args.samples])
        for path in sorted(args.held_out.glob("*.txt"))
    }
    columns: dict[str, list[str]] = {}
    sizes = [int(size) for size in args.pairs.split(",")]
    for size in sizes:
        y = base.denoiser.read(own[:size])
        for name, one in maps(base, theirs[:size], y, texts[:size], args.minutes):
            with torch.no_grad():
                found = [
                    found_words(base, one(load(vectors / args.encoder / kind)[: args.samples]), words)
                    for kind, words in kinds.items()
                ]
            columns.setdefault(name, []).append(f"{100 * float(np.mean(found)):.1f}")
            sys.stderr.write(f"{size:,} {name}: {columns[name][-1]}\n")
    kept = [vectors / base.config.encoder.name / kind for kind in kinds]
    if all(folder.is_dir() for folder in kept):
        with torch.no_grad():
            found = [
                found_words(base, base.denoiser.read(load(folder)[: args.samples]), words)
                for folder, words in zip(kept, kinds.values(), strict=True)
            ]
        columns["its own encoder's vectors"] = [f"{100 * float(np.mean(found)):.1f}"] * len(sizes)
    head = " | ".join(f"{args.encoder}, {size:,} pairs" for size in sizes)
    sys.stdout.write(f"| map | {head} |\n|---|{'---|' * len(sizes)}\n")
    for name, cells in columns.items():
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
