"""What a text is worth to the search: near to the target, and likely.

    value(text) = cosine(text, target) + trigram_weight log p(text) + denoiser_weight score(text)

By the cosine alone a search ends in nonsense, which comes near and then no nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

from unembed.search.settings import GuidedSettings

LEAST_SCORE = -50.0  # nothing counts as less likely than that


@dataclass(frozen=True)
class Objective:
    """The weights of one search."""

    trigram_weight: float = 0.0
    denoiser_weight: float = 0.0  # 0: the denoiser is not asked for scores
    by_surrogate: bool = False  # the cosines are a surrogate's: the nearest text need not be the right one

    @classmethod
    def of(cls, settings: GuidedSettings, *, by_surrogate: bool, trigrams: bool) -> Objective:
        """The weights that these settings have for this kind of encoder, with trigrams or without."""
        if by_surrogate:  # its cosines say less: trigrams and the denoiser's scores both count
            return cls(settings.trigram_weight_by_surrogate, settings.denoiser_weight_by_surrogate, True)
        # Trigrams detect nonsense too, and need no forward pass.
        return cls(settings.trigram_weight, 0.0 if trigrams else settings.denoiser_weight)

    def value(self, cosine: float, trigram_log_prob: float, score: float | None) -> float:
        """How good a text is to edit next; `score` is the denoiser's, where it is to count."""
        value = cosine + self.trigram_weight * trigram_log_prob
        if score is not None:
            value += self.denoiser_weight * max(score, LEAST_SCORE)
        return value
