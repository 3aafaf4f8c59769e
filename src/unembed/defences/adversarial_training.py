"""The training of the learnt defence: a transform against inverters that are retrained in turn.

The transform minimises `neighbours + adversary * success`. `neighbours` is how much the neighbour lists of
a batch change, `success` how much of the clean vectors two inverters get back: a linear one, whose best
response is solved in closed form and differentiated through at every step, and a small network that takes
steps of its own between the transform's.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from unembed.defences.base import Floats
from unembed.progress import Progress

TEMPERATURE = 0.05  # of the neighbour lists: the ten nearest have most of the weight
START_SIGMA = 0.01
RATE, NETWORK_RATE, SIGMA_RATE = 1e-3, 2e-3, 3e-2
NETWORK_STEPS = 2  # of the inverting network, per step of the transform
PER_DIMENSION = 3  # vectors of a step, at least, for each dimension
RIDGE = 1e-3  # of the linear inverter, as a share of the mean variance


class Transform(nn.Module):
    """`v A + tanh(v B + b) C`, brought to length 1. It starts as the identity."""

    def __init__(self, dimension: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Parameter(torch.eye(dimension))
        self.inner = nn.Parameter(torch.randn(dimension, hidden, generator=generator))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.outer = nn.Parameter(torch.zeros(hidden, dimension))
        self.log_sigma = nn.Parameter(torch.tensor([START_SIGMA]).log())

    def forward(self, vectors: Tensor) -> Tensor:
        hidden = torch.tanh(vectors @ self.inner + self.bias)  # [N, H]
        return functional.normalize(vectors @ self.linear + hidden @ self.outer, dim=1)  # [N, D]


def train_transform(
    vectors: Floats,
    *,
    adversary: float,
    hidden: int,
    steps: int,
    batch: int,
    seed: int,
    progress: Progress,
) -> dict[str, NDArray[np.float32]]:
    """The parts of a transform that was trained on these vectors of length 1."""
    random = torch.Generator().manual_seed(seed % 2**63)
    clean = torch.from_numpy(np.ascontiguousarray(vectors))
    dimension = clean.shape[1]
    count = max(batch, PER_DIMENSION * dimension)  # too few, and the linear inverter fails by itself
    targets = Targets(clean)
    transform = Transform(dimension, hidden, random)
    network = _network(dimension, hidden, random)
    weights = [part for name, part in transform.named_parameters() if name != "log_sigma"]
    optimiser = torch.optim.Adam(
        [{"params": weights, "lr": RATE}, {"params": [transform.log_sigma], "lr": SIGMA_RATE}]
    )
    inverter = torch.optim.Adam(network.parameters(), lr=NETWORK_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)

    def drawn(count: int) -> tuple[Tensor, Tensor, Tensor]:
        # Without replacement: the linear inverter must not meet in one half what it saw in the other.
        rows = torch.randperm(len(clean), generator=random)[:count]
        stored = transform(clean[rows])
        noise = torch.randn(stored.shape, generator=random)
        return rows, stored, stored + transform.log_sigma.exp() * noise

    for _ in range(steps):
        for _ in range(NETWORK_STEPS):
            with torch.no_grad():
                rows, _, noisy = drawn(batch)
            loss = -targets.success(network(noisy), rows)
            inverter.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            inverter.step()
        rows, asked, noisy = drawn(count)
        half = len(rows) // 2
        linear = targets.success(linear_inverter(noisy, targets.wanted[rows], half), rows[half:])
        success = torch.maximum(linear, targets.success(network(noisy), rows))
        loss = neighbour_loss(clean[rows[:batch]], asked[:batch], noisy[:batch]) + adversary * success
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        progress.advance()
    found = {name: part.detach().numpy() for name, part in transform.named_parameters()}
    found["sigma"] = np.exp(found.pop("log_sigma"))
    return found


class Targets:
    """What the inverters are to find: the clean vectors in their principal directions, each of variance 1.

    A text's words are in the small directions as much as in the large ones, so each counts alike.
    """

    def __init__(self, clean: Tensor) -> None:
        centred = clean - clean.mean(dim=0)
        values, directions = torch.linalg.eigh(centred.T @ centred / len(clean))
        kept = values > 1e-6 * values[-1]
        self.wanted = centred @ directions[:, kept] / values[kept].sqrt()  # [N, K]

    def success(self, guessed: Tensor, rows: Tensor) -> Tensor:
        """The share of variance that a guess explains: 1 is all of it, 0 what guessing the mean does."""
        wanted = self.wanted[rows]
        guessed = guessed[:, : wanted.shape[1]]
        left: Tensor = functional.mse_loss(guessed, wanted) / wanted.square().mean()
        return 1 - left


def linear_inverter(seen: Tensor, wanted: Tensor, half: int) -> Tensor:
    """A ridge regression fitted on the first half of a batch, and its guesses for the second half."""
    mean = seen[:half].mean(dim=0)
    x = seen[:half] - mean
    gram = x.T @ x  # [D, D]
    ridge = RIDGE * gram.diagonal().mean() * torch.eye(len(gram))
    solved = torch.linalg.solve(gram + ridge, x.T @ wanted[:half])  # [D, K]
    return torch.matmul(seen[half:] - mean, solved)


def neighbour_loss(clean: Tensor, asked: Tensor, stored: Tensor) -> Tensor:
    """How far the neighbour lists are from the clean ones: KL divergence, a vector itself left out."""
    itself = torch.eye(len(clean), dtype=torch.bool)
    before = (clean @ clean.T / TEMPERATURE).masked_fill(itself, -torch.inf)  # [N, N]
    after = asked @ functional.normalize(stored, dim=1).T / TEMPERATURE
    after = after.masked_fill(itself, -torch.inf)
    log_before, log_after = before.log_softmax(dim=1), after.log_softmax(dim=1)
    gap = (log_before - log_after).masked_fill(itself, 0)
    return (log_before.exp() * gap).sum(dim=1).mean()


def _network(dimension: int, hidden: int, generator: torch.Generator) -> nn.Sequential:
    """A small inverter; its weights come from the generator, not from torch's global state."""
    network = nn.Sequential(nn.Linear(dimension, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, dimension))
    with torch.no_grad():
        for part in network.parameters():
            part.copy_(torch.randn(part.shape, generator=generator) * (part.shape[-1] ** -0.5))
    return network
