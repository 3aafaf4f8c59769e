"""From a step's indices to tensors: entries, corruption and weights, drawn for the joint batch.

Every process draws the whole step and keeps its own rows; vectors, by far the largest part of the data, are
read of its own rows only. Many processes thus give exactly the gradient that one would, and a resumed run
meets exactly the masks that it would have met, whatever the number of processes is now.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.diffusion.corrupt import corrupt, sample_times
from unembed.diffusion.loss import bound_weights
from unembed.diffusion.schedule import NoiseSchedule
from unembed.model.fast.candidate_softmax import CandidateDraw, Candidates
from unembed.model.vocabulary import Vocabulary
from unembed.model.wiener import WienerFilter
from unembed.training.config import TrainConfig
from unembed.training.dataset import TrainingTexts


@dataclass(frozen=True)
class Rank:
    """Which of how many processes this is."""

    index: int = 0
    count: int = 1

    @property
    def rows(self) -> slice:
        """Its rows of a joint batch."""
        return slice(self.index, None, self.count)


ALONE = Rank()

# Noise of a blurred vector, relative to the spread of its numbers: from hardly any to an adapter's worst.
LEAST_BLUR, MOST_BLUR = 0.1, 2.0


@dataclass
class Group:
    """Samples of one length, corrupted. `scale` holds every weight of the loss, one per sample."""

    x0: Tensor  # [B, L] entries
    masked: Tensor  # [B, L] bool
    t: Tensor  # [B]
    lengths: Tensor  # [B]
    vectors: Tensor  # [B, vector_dim]
    dropped: Tensor  # [B] bool: must do without the vector
    scale: Tensor  # [B] the loss is the sum of scale times the sample's cross-entropy
    share: Tensor  # [B] a sample's part in a mean over the joint batch


@dataclass
class HeadBatch:
    """Vectors for the lexical and length heads alone."""

    vectors: Tensor  # [H, vector_dim]
    lengths: Tensor  # [H]
    entries: Tensor  # [H, L], UNKNOWN's entry beyond the length
    real: Tensor  # [H, L] bool
    share: Tensor  # [H] a vector's part in a mean over the joint batch


@dataclass
class CorruptedBatch:
    """All that one forward and backward pass needs."""

    groups: list[Group]
    heads: HeadBatch | None
    candidates: Candidates | None

    def to(self, device: torch.device) -> CorruptedBatch:
        """The same on another device."""
        if device.type == "cpu":
            return self
        return CorruptedBatch(
            [_moved(group, device) for group in self.groups],
            None if self.heads is None else _moved(self.heads, device),
            None if self.candidates is None else Candidates(*(x.to(device) for x in self.candidates)),
        )


class BatchMaker:
    """Makes step number `step`, the same one whenever it is asked."""

    def __init__(
        self,
        texts: TrainingTexts,
        vocabulary: Vocabulary,
        schedule: NoiseSchedule,
        config: TrainConfig,
        counts: Tensor,
        wiener: WienerFilter | None = None,
    ) -> None:
        assert wiener is not None or not config.vector_noise
        self._wiener = wiener
        self._texts = texts
        self._vocabulary = vocabulary
        self._schedule = schedule
        self._config = config
        repeats = texts.repeats(config.source_alpha) if config.head_batch else None
        self._cumulative = None if repeats is None else torch.from_numpy(repeats).cumsum(0)  # [N]
        self._draw = (
            CandidateDraw(counts, config.candidates, config.candidate_power) if config.candidates else None
        )

    def __call__(self, step: int, indices: list[NDArray[np.int64]], rank: Rank = ALONE) -> CorruptedBatch:
        generator = torch.Generator().manual_seed(mix_seed(self._config.seed, step))
        heads = self._heads(generator, rank)
        drawn = [self._corrupted(group, generator, rank) for group in indices]
        self._weigh(drawn, rank)
        groups = [_own_rows(group, rank) for group in drawn]
        candidates = None
        if self._draw is not None:
            present = [group.x0.flatten() for group in drawn]
            present += [] if heads is None else [heads.entries.flatten()]
            candidates = self._draw(torch.cat(present), generator)
        return CorruptedBatch(groups, None if heads is None else _own_rows(heads, rank), candidates)

    def _corrupted(self, indices: NDArray[np.int64], generator: torch.Generator, rank: Rank) -> Group:
        lengths = self._texts.lengths[indices]  # [B]
        entries = self._vocabulary.encode(self._texts.tokens(indices))  # [B, L]
        if self._vocabulary.fixed_length:
            size = self._config.max_length
            entries = self._vocabulary.close(entries, lengths, size)
            positions = np.full(len(indices), size)
        else:
            positions = lengths
        x0 = torch.from_numpy(entries)
        t = sample_times(len(indices), generator)  # [B]
        alpha = self._schedule.alpha(t)
        size_each = torch.from_numpy(positions)
        masked, any_masked = corrupt(alpha, size_each, x0.shape[1], generator)
        dropped = torch.rand(len(indices), generator=generator) < self._config.condition_dropout
        return Group(
            x0=x0,
            masked=masked,
            t=t,
            lengths=torch.from_numpy(lengths),
            vectors=self._vectors(indices, generator, rank),
            dropped=dropped,
            scale=bound_weights(self._schedule.weight(t), any_masked, size_each),
            share=torch.ones(len(indices)),
        )

    def _weigh(self, groups: list[Group], rank: Rank) -> None:
        """Normalise over the joint batch; the processes' gradients are averaged, hence the count."""
        samples = sum(len(group.x0) for group in groups)
        tokens = sum(int(group.masked.sum()) for group in groups)
        for group in groups:
            group.share = group.share * (rank.count / samples)
            if self._config.weighting == "token":
                group.scale = torch.full_like(group.scale, rank.count / tokens)
            else:
                group.scale = group.scale * (rank.count / samples)

    def _heads(self, generator: torch.Generator, rank: Rank) -> HeadBatch | None:
        if not self._config.head_batch:
            return None
        chosen = self._any_texts(self._config.head_batch, generator)
        lengths = self._texts.lengths[chosen]
        tokens = self._texts.tokens(chosen)  # [H, L], -1 beyond the length
        entries, real = self._vocabulary.encode(tokens), tokens >= 0
        if self._vocabulary.fixed_length:
            entries = self._vocabulary.close(entries, lengths, self._config.max_length)
            real = np.ones_like(entries, dtype=bool)
        return HeadBatch(
            vectors=self._vectors(chosen, generator, rank),
            lengths=torch.from_numpy(lengths),
            entries=torch.from_numpy(entries),
            real=torch.from_numpy(real),
            share=torch.full((len(chosen),), rank.count / len(chosen)),
        )

    def _vectors(self, indices: NDArray[np.int64], generator: torch.Generator, rank: Rank) -> Tensor:
        """This process's vectors, a share of them blurred; no others are read.  # [b, vector_dim]"""
        own, count = rank.rows, len(indices)
        vectors = torch.from_numpy(self._texts.vectors(indices[own]))
        if self._wiener is None or not self._config.vector_noise:
            return vectors
        # Drawn for all rows, as every process must.
        blurred = torch.rand(count, generator=generator)[own] < self._config.vector_noise  # [b]
        octaves = torch.rand(count, generator=generator)[own] * math.log(MOST_BLUR / LEAST_BLUR)  # [b]
        sigma = self._wiener.spread * LEAST_BLUR * octaves.exp()  # [b]
        noise = torch.randn((count, vectors.shape[1]), generator=generator)[own]  # [b, vector_dim]
        guess = self._wiener(vectors + sigma[:, None] * noise, sigma)  # [b, vector_dim]
        return torch.where(blurred[:, None], guess, vectors)

    def _any_texts(self, size: int, generator: torch.Generator) -> NDArray[np.int64]:
        """Draws with replacement, by how often an epoch takes each text.  # [size]"""
        if self._cumulative is None:
            return torch.randint(len(self._texts), (size,), generator=generator).numpy()
        at = torch.rand(size, generator=generator, dtype=torch.double) * self._cumulative[-1]
        found: NDArray[np.int64] = torch.searchsorted(self._cumulative, at, right=True).numpy()
        return found.clip(max=len(self._texts) - 1)


def _own_rows(part: Group | HeadBatch, rank: Rank):  # type: ignore[no-untyped-def]
    """What was drawn for all rows, of this process's rows; its vectors are those already."""
    drawn = [field.name for field in fields(part) if field.name != "vectors"]
    return replace(part, **{name: getattr(part, name)[rank.rows] for name in drawn})


def _moved(part: Group | HeadBatch, device: torch.device):  # type: ignore[no-untyped-def]
    values = {field.name: getattr(part, field.name).to(device, non_blocking=True) for field in fields(part)}
    return type(part)(**values)


def mix_seed(*numbers: int) -> int:
    """One 63-bit seed from several numbers: neighbours share nothing."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
