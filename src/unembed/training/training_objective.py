"""What a training step minimises: the denoising bound, the words, the length."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.diffusion.loss import weighted_bound
from unembed.model.denoiser import Denoiser, Prepared
from unembed.model.fast.candidate_softmax import CandidateWeights
from unembed.model.fast.tied_gradient import TiedGradient
from unembed.training.bf16_layers import Bf16Layers
from unembed.training.config import TrainConfig
from unembed.training.corrupted_batch import CorruptedBatch, Group, HeadBatch
from unembed.training.training_precision import TrainingPrecision

MOST_WRONG = 0.3  # of the words in a context


def make_objective(denoiser: Denoiser, config: TrainConfig, precision: TrainingPrecision) -> nn.Module:
    """The objective in this precision. Losses, norms and tables are float32 in either."""
    objective = Objective(denoiser, config)
    # Of the lexical head's last layer, as of the tokens' table, a step needs only the candidates' rows.
    return objective if precision == "fp32" else Bf16Layers(objective, keep=("lexical.down",))


class Objective(nn.Module):
    """The denoiser and its losses as one module, so that gradients are averaged across processes."""

    def __init__(self, denoiser: Denoiser, config: TrainConfig) -> None:
        super().__init__()
        self.denoiser = denoiser
        self._config = config

    def forward(self, step: CorruptedBatch) -> dict[str, Tensor]:
        """Every loss by name, and their weighted sum as `loss`."""
        candidates = (
            None if step.candidates is None else CandidateWeights.gather(self.denoiser, step.candidates)
        )
        weights = self._config
        if not weights.denoising_weight and step.heads is not None:
            losses = self._head_losses([step.heads], None, candidates)
            return losses | {"loss": self._weighted(losses)}
        groups = step.groups
        # What depends on vectors alone is computed for all groups at once.
        prepared = self.denoiser.prepare(
            torch.cat([group.vectors for group in groups]),
            torch.cat([group.lengths for group in groups]),
            candidates=candidates,
            dropped=torch.cat([group.dropped for group in groups]) if weights.condition_dropout else None,
        )
        parts = prepared.split([len(group.x0) for group in groups])
        losses = {"denoising": self._denoising(groups, parts, candidates)}
        if step.heads is not None:
            losses |= self._head_losses([step.heads], None, candidates)
        else:
            losses |= self._head_losses([_as_heads(group) for group in groups], parts, candidates)
        return losses | {"loss": self._weighted(losses)}

    def _weighted(self, losses: dict[str, Tensor]) -> Tensor:
        weights = self._config.model_dump(include={f"{name}_weight" for name in losses})
        return torch.stack([weights[f"{name}_weight"] * loss for name, loss in losses.items()]).sum()

    def _denoising(
        self, groups: list[Group], parts: list[Prepared], candidates: CandidateWeights | None
    ) -> Tensor:
        """Equation (4): cross-entropy at masked positions only, weighted sample by sample."""
        denoiser = self.denoiser
        # Where nothing is added to the logits, the token matrix's two uses share a gradient.
        tie = TiedGradient(denoiser.token.weight) if candidates is None and denoiser.lexical is None else None
        embed = denoiser.embed if candidates is None else candidates.embed
        embed = embed if tie is None else tie.look_up
        hidden, words, targets, rows, start = [], [], [], [], 0
        for group, prepared in zip(groups, parts, strict=True):
            xt = group.x0.masked_fill(group.masked, denoiser.config.mask_id)  # [B, L]
            if self._config.wrong_words:
                xt = _with_wrong_words(xt, group.masked, prepared, candidates, self._config.wrong_words)
            at = group.masked.flatten().nonzero().squeeze(1)  # [M]
            hidden.append(denoiser.hidden(xt, group.t, prepared, at=at, embedded=embed(xt)))  # [M, D]
            words.append(denoiser.words(prepared, xt, candidates))  # [B, V or C]
            targets.append(group.x0.flatten()[at])
            rows.append(at // xt.shape[1] + start)  # [M] the sample in the whole batch
            start += len(xt)
        h, target, sample = torch.cat(hidden), torch.cat(targets), torch.cat(rows)
        lexical = [word for word in words if word is not None]  # of all groups, or of none
        if tie is not None:
            entropy = self._tied_cross_entropy(h, tie, target)  # [M]
        else:
            added = torch.cat(lexical).index_select(0, sample) if lexical else None  # [M, V or C]
            entropy = self._cross_entropy(h, added, target, candidates)  # [M]
        return weighted_bound(entropy, sample, torch.cat([group.scale for group in groups])).sum()

    def _cross_entropy(
        self, h: Tensor, added: Tensor | None, target: Tensor, candidates: CandidateWeights | None
    ) -> Tensor:
        """Over all words or the candidates. added: the lexical head's part of the logits.  # [M]"""
        if candidates is None:
            logits = self.denoiser.readout(h)  # [M, V]
        else:
            logits = candidates.readout(self.denoiser.features(h))  # [M, C]
            target = candidates.column[target]
        logits = logits.float() if added is None else logits + added
        return F.cross_entropy(logits, target, reduction="none")

    def _tied_cross_entropy(self, h: Tensor, tie: TiedGradient, target: Tensor) -> Tensor:
        """The same where nothing is added to the logits: one fused call.  # [M]

        [MASK]'s row is ruled out by its bias; cutting it off would copy the whole matrix's gradient.
        """
        features = self.denoiser.features(h)  # [M, D]
        bias = F.pad(self.denoiser.output_bias, (0, 1), value=-torch.inf).to(features.dtype)  # [V + 1]
        weight = tie.output(features.dtype)  # [V + 1, D]
        return F.linear_cross_entropy(features, weight, target, linear_bias=bias, reduction="none")

    def _head_losses(
        self, batches: list[HeadBatch], parts: list[Prepared] | None, candidates: CandidateWeights | None
    ) -> dict[str, Tensor]:
        """Means over the joint batch. parts: where these vectors' lexical logits exist already."""
        denoiser, lexical, length = self.denoiser, [], []
        for number, heads in enumerate(batches):
            if denoiser.lexical is not None and self._config.lexical_weight:
                logits = None if parts is None else parts[number].lexical  # [H, V or C]
                if logits is None:
                    e = denoiser.read(heads.vectors)  # [H, vector_dim]
                    logits = denoiser.lexical(e, None if candidates is None else candidates.lexical)
                lexical.append(_lexical_loss(logits, heads, candidates))
            if denoiser.length_head is not None:
                guess = denoiser.length_logits(heads.vectors)  # [H, max_length + 1]
                surprise = F.cross_entropy(guess.float(), heads.lengths, reduction="none")  # [H]
                length.append((surprise * heads.share).sum())
        named = {"lexical": lexical, "length": length}
        return {name: torch.stack(values).sum() for name, values in named.items() if values}


def _lexical_loss(logits: Tensor, heads: HeadBatch, candidates: CandidateWeights | None) -> Tensor:
    """Multi-label: is this word in the text? Summed over words, per token, averaged over texts."""
    entries, real = heads.entries, heads.real  # [H, L]
    columns = entries if candidates is None else candidates.column[entries]  # [H, L]
    rows = torch.arange(len(entries), device=entries.device)[:, None].expand_as(entries)
    logits = logits.float()
    present = torch.zeros_like(logits)
    present[rows[real], columns[real]] = 1.0  # [H, V or C]
    loss = F.binary_cross_entropy_with_logits(logits, present, reduction="none").sum(dim=1)  # [H]
    return (loss / heads.lengths * heads.share).sum()


def _with_wrong_words(
    xt: Tensor, masked: Tensor, prepared: Prepared, candidates: CandidateWeights | None, share: float
) -> Tensor:
    """Some words of the context exchanged for ones that a decoder could have taken.  # [B, L]

    At inference the context is the model's own: right words in wrong places, and words that only seem likely.
    Here they are drawn from the lexical head's distribution, whose likeliest words are mostly the text's.
    The draws are the global generator's, as dropout's are: the loop seeds it for every step.
    """
    assert prepared.lexical is not None  # the configuration sees to it
    odds = prepared.lexical.detach().float().softmax(dim=1)  # [B, V or C]
    drawn = torch.multinomial(odds, xt.shape[1], replacement=True)  # [B, L]
    if candidates is not None:
        drawn = candidates.entries[drawn]
    rate = (
        MOST_WRONG * torch.rand(len(xt), device=xt.device) * (torch.rand(len(xt), device=xt.device) < share)
    )
    wrong = ~masked & (torch.rand(xt.shape, device=xt.device) < rate[:, None])  # [B, L]
    return torch.where(wrong, drawn, xt)


def _as_heads(group: Group) -> HeadBatch:
    """The group's own vectors for the heads, where they have no batch of their own."""
    real = torch.ones_like(group.x0, dtype=torch.bool)
    return HeadBatch(group.vectors, group.lengths, group.x0, real, group.share)
