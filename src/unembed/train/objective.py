"""What a training step minimises: the denoising bound, the words, the length."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.model.denoiser import Candidates, Denoiser, Prepared
from unembed.train.batch import Group, HeadBatch, Step
from unembed.train.config import TrainConfig


class Objective(nn.Module):
    """The denoiser and its losses as one module, so that gradients are averaged across processes."""

    def __init__(self, denoiser: Denoiser, config: TrainConfig) -> None:
        super().__init__()
        self.denoiser = denoiser
        self._config = config

    def forward(self, step: Step) -> dict[str, Tensor]:
        """Every loss by name, and their weighted sum as `loss`."""
        parts: dict[str, list[Tensor]] = {"denoising": []}
        for group in step.groups:
            prepared = self._prepare(group, step.candidates)
            parts["denoising"].append(self._denoising(group, prepared, step.candidates))
            if step.heads is None:
                real = torch.ones_like(group.x0, dtype=torch.bool)
                heads = HeadBatch(group.vectors, group.lengths, group.x0, real, group.share)
                for name, loss in self._head_losses(heads, step.candidates, prepared.lexical).items():
                    parts.setdefault(name, []).append(loss)
        losses = {name: torch.stack(values).sum() for name, values in parts.items()}
        if step.heads is not None:
            losses |= self._head_losses(step.heads, step.candidates)
        total = losses["denoising"]
        total = total + self._config.lexical_weight * losses.get("lexical", 0.0)
        losses["loss"] = total + self._config.length_weight * losses.get("length", 0.0)
        return losses

    def _prepare(self, group: Group, candidates: Candidates | None) -> Prepared:
        return self.denoiser.prepare(
            group.vectors,
            group.lengths,
            candidates=candidates,
            dropped=group.dropped if self._config.condition_dropout else None,
        )

    def _denoising(self, group: Group, prepared: Prepared, candidates: Candidates | None) -> Tensor:
        """Equation (4): cross-entropy at masked positions only, weighted sample by sample."""
        denoiser = self.denoiser
        xt = group.x0.masked_fill(group.masked, denoiser.config.mask_id)  # [B, L]
        rows, places = group.masked.nonzero(as_tuple=True)  # [M]
        h = denoiser.hidden(xt, group.t, prepared)[rows, places]  # [M, D]
        target = group.x0[rows, places]  # [M]
        if candidates is None and prepared.lexical is None:
            # Nothing is added to the logits, so the matrix of them need never exist.
            entropy = F.linear_cross_entropy(
                denoiser.features(h),
                denoiser.token.weight[:-1],
                target,
                linear_bias=denoiser.output_bias,
                reduction="none",
            )  # [M]
        else:
            logits = denoiser.logits(h, rows, prepared, candidates, xt=xt)  # [M, V or C]
            column = target if candidates is None else candidates.place[target]
            entropy = F.cross_entropy(logits, column, reduction="none")  # [M]
        return (entropy * group.scale[rows]).sum()

    def _head_losses(
        self, heads: HeadBatch, candidates: Candidates | None, lexical: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Means over the joint batch. lexical: [H, V or C] where these logits exist already."""
        losses = {}
        if self.denoiser.lexical is not None:
            if lexical is None:
                e = self.denoiser.standardise(heads.vectors)
                lexical = self.denoiser.lexical(e, None if candidates is None else candidates.entries)
            losses["lexical"] = self._lexical(lexical, heads, candidates)
        if self.denoiser.length_head is not None:
            logits = self.denoiser.length_logits(heads.vectors)  # [H, max_length + 1]
            surprise = F.cross_entropy(logits, heads.lengths, reduction="none")  # [H]
            losses["length"] = (surprise * heads.share).sum()
        return losses

    @staticmethod
    def _lexical(logits: Tensor, heads: HeadBatch, candidates: Candidates | None) -> Tensor:
        """Multi-label: is this word in the text? A sum over words, a token's share, a mean over texts."""
        entries, real = heads.entries, heads.real  # [H, L]
        columns = entries if candidates is None else candidates.place[entries]  # [H, L]
        rows = torch.arange(len(entries), device=entries.device)[:, None].expand_as(entries)
        present = torch.zeros_like(logits)
        present[rows[real], columns[real]] = 1.0  # [H, V or C]
        loss = F.binary_cross_entropy_with_logits(logits, present, reduction="none").sum(dim=1)  # [H]
        return (loss / heads.lengths * heads.share).sum()
