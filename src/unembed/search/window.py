"""A window of vectors, searched for together: the plain inversion's texts, then ever nearer ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.invert_batch import Settings, invert_batch
from unembed.decode.result import Advance, Alternative, Frame, Inversion
from unembed.decode.score import score_texts
from unembed.encoders.base import Encoder
from unembed.errors import MismatchError
from unembed.model.checkpoint import Checkpoint
from unembed.model.phrases import Phrases
from unembed.search.guided_search import GuidedSearch, Observer
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings

TIE = 1e-6  # cosines that differ by less are equal: that is the encoder's own rounding


@dataclass
class Search:
    """A search over any number of windows: how, by which encoder, and who watches."""

    strategy: GuidedSettings
    encoder: Encoder
    observe: Observer | None = None
    scout: Encoder | None = None  # looks at drafts before the encoder is called
    phrases: Phrases | None = None  # tells sentences from heaps of words
    interrupted: bool = False  # by Ctrl-C: what is left is only decoded


def search_window(
    checkpoint: Checkpoint,
    window: NDArray[np.float32],
    lengths: Tensor | None,
    settings: Settings,
    search: Search,
) -> list[Inversion]:
    """Texts of the vectors [n, D], found with the encoder; `lengths` [n] where the caller knows them."""
    if search.interrupted or not search.strategy.max_encoder_calls:
        return invert_batch(checkpoint, window, lengths, settings)
    first = replace(settings, n_best=max(search.strategy.num_starts, settings.n_best), trace=False)
    plain = invert_batch(checkpoint, window, lengths, first)
    texts = [[found.tokens, *(one.tokens for one in found.alternatives)] for found in plain]
    starts = [[_entries(checkpoint, tokens) for tokens in some] for some in texts]
    guided = GuidedSearch(
        checkpoint,
        search.encoder,
        search.strategy,
        batch=settings.batch,
        seed=settings.seed,
        lengths=None if lengths is None else lengths.tolist(),
        surrogate=search.scout,
        phrases=search.phrases,
    )
    hunts = guided.run(window, starts, search.observe)
    search.interrupted = guided.interrupted
    return [
        _result(checkpoint, vector, found, hunt, settings)
        for vector, found, hunt in zip(window, plain, hunts, strict=True)
    ]


def check_guide(encoder: Encoder, checkpoint: Checkpoint) -> None:
    """Only an encoder whose vectors lie in the same space can guide."""
    wanted, given = checkpoint.config.encoder, encoder.info
    if given.dimension != wanted.dimension:
        raise MismatchError(
            f"The encoder '{given.name}' makes vectors of {given.dimension} numbers; this model inverts "
            f"vectors of {wanted.dimension}, made by '{wanted.name}'.",
            hint=f"Guide it by '{wanted.name}', or by a surrogate that learnt its vectors.",
        )


def _entries(checkpoint: Checkpoint, tokens: Sequence[int]) -> tuple[int, ...]:
    return tuple(checkpoint.vocabulary.encode(np.array(tokens, dtype=np.int64)).tolist())


def _result(
    checkpoint: Checkpoint,
    vector: NDArray[np.float32],
    plain: Inversion,
    hunt: SearchState,
    settings: Settings,
) -> Inversion:
    decode = checkpoint.vocabulary.decode
    passes = plain.forward_passes + hunt.forward_passes
    if hunt.best is None:  # no call was allowed, or it was interrupted before the first
        others = plain.alternatives[: settings.n_best - 1]
        return replace(plain, alternatives=others, forward_passes=passes)
    ranked, scores = rank(checkpoint, vector, hunt, settings.n_best, length_known=plain.length_known)
    best = ranked[0]
    return Inversion(
        text=best.text,
        tokens=tuple(decode(best.entries)),
        score=scores[0],
        forward_passes=passes,
        length_known=plain.length_known,
        alternatives=tuple(
            Alternative(one.text, tuple(decode(one.entries)), score)
            for one, score in zip(ranked[1:], scores[1:], strict=True)
        ),
        trace=_frames(checkpoint, hunt) if settings.trace else None,
        encoder_calls=hunt.calls,
        cosine=best.cosine,
        advances=tuple(
            Advance(one.call, one.cosine, one.text, tuple(decode(one.entries))) for one in hunt.history
        ),
    )


def rank(
    checkpoint: Checkpoint, vector: NDArray[np.float32], hunt: SearchState, count: int, *, length_known: bool
) -> tuple[list[Hypothesis], list[float]]:
    """The nearest texts and their scores; where cosines tie, the model's score decides.

    Where the cosines are an imitation's, it decides all along, as in the search: only texts that came
    near enough to be given a score are ranked.
    """
    scored = [one for one in hunt.tried.values() if one.text in hunt.denoiser_scores]
    if hunt.objective.by_surrogate and scored:
        ranked = sorted(scored, key=lambda one: -hunt.value(one))[:count]
        return ranked, [hunt.denoiser_scores[one.text] for one in ranked]
    nearest = sorted(hunt.tried.values(), key=lambda one: -one.cosine)
    last = nearest[min(count, len(nearest)) - 1].cosine
    chosen = [one for one in nearest if one.cosine >= last - TIE]
    vectors = np.repeat(vector[None], len(chosen), axis=0)
    scores = score_texts(checkpoint, [one.entries for one in chosen], vectors, length_known=length_known)
    out: list[tuple[Hypothesis, float]] = []
    rest = list(zip(chosen, scores, strict=True))
    while rest and len(out) < count:
        tied = [item for item in rest if item[0].cosine >= rest[0][0].cosine - TIE]
        best = max(tied, key=lambda item: item[1])
        out.append(best)
        rest.remove(best)
    return [one for one, _ in out], [score for _, score in out]


def _frames(checkpoint: Checkpoint, hunt: SearchState) -> tuple[Frame, ...]:
    """Every nearer text in turn."""
    return tuple(Frame(tuple(checkpoint.vocabulary.decode(one.entries)), one.text) for one in hunt.history)
