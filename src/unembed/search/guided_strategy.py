"""Guided search as a strategy: which texts it starts from, who watches it, what it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.invert_batch import invert_batch
from unembed.decode.observer import Observer, SearchProgress, Update
from unembed.decode.registry import make_decoder
from unembed.decode.result import Advance, Alternative, Frame, Inversion
from unembed.decode.score import score_texts
from unembed.decode.strategy import InversionRun
from unembed.encoders.base import Encoder
from unembed.encoders.written_differences import written_differences
from unembed.errors import MismatchError, UsageError
from unembed.invert_config import InvertConfig
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import SURROGATE
from unembed.search.base_reading import BaseReading
from unembed.search.fresh_inversions import as_entries
from unembed.search.guided_search import GuidedSearch
from unembed.search.refined_decoding import RefinedDecoding
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.written_form import Writer

START_LENGTHS = 5  # a start of the right length spares many calls
TIE = 1e-6  # cosines that differ by less are equal: that is the encoder's own rounding


@dataclass(frozen=True)
class Guided:
    """The plain inversion's texts first, then ever nearer ones by the encoder's word."""

    settings: GuidedSettings
    needs_encoder: ClassVar[bool] = True

    def invert(
        self, run: InversionRun, vectors: NDArray[np.float32], lengths: Tensor | None
    ) -> list[Inversion]:
        """All vectors of a batch are searched for together, so that every pass and every call is full."""
        decoder = make_decoder()
        settings, config, checkpoint = self._within_time(run), run.config, run.checkpoint
        if settings is None:
            return invert_batch(checkpoint, vectors, lengths, decoder, config, run.batch_observer)
        assert run.encoder is not None, "the registry says that an encoder is needed"
        # A surrogate that judges by itself has nobody to correct it, and depends more on where it begins.
        start_steps = None if config.encoder == SURROGATE else settings.start_steps
        first = config.model_copy(
            update={
                "n_best": max(settings.num_starts, config.n_best),
                "num_lengths": config.num_lengths or START_LENGTHS,
                "steps": config.steps or start_steps,
                "trace": False,
            }
        )
        plain = self._first_texts(run, first, vectors, lengths)
        texts = [[found.tokens, *(one.tokens for one in found.alternatives)] for found in plain]
        starts = [[as_entries(checkpoint, tokens) for tokens in some] for some in texts]
        search = GuidedSearch(
            checkpoint,
            run.encoder,
            settings,
            batch=config.batch_size,
            seed=config.seed,
            lengths=None if lengths is None else lengths.tolist(),
            surrogate=run.surrogate,
            phrases=run.phrases,
            words=run.word_vectors,
            writer=make_writer(checkpoint, run.encoder) if settings.forms else None,
            base=_base_reading(run, settings),
            first=first,
            spent=run.spent,
        )
        observe = run.batch_observer
        tell = None if observe is None else _state_observer(checkpoint, observe)
        states = search.run(vectors, starts, tell)
        run.interrupted = search.interrupted
        if search.interrupted and not settings.keep_on_interrupt:
            raise KeyboardInterrupt
        return [
            _result(checkpoint, vector, found, state, settings, config)
            for vector, found, state in zip(vectors, plain, states, strict=True)
        ]

    def _first_texts(
        self, run: InversionRun, first: InvertConfig, vectors: NDArray[np.float32], lengths: Tensor | None
    ) -> list[Inversion]:
        """What the search begins with: the plain inversion's texts, refined where there is a surrogate."""
        config = first.model_copy(update={"refine": self.settings.refine_starts})
        alone = replace(run, config=config, observe=None, beginnings=None)
        return RefinedDecoding(make_decoder()).invert(alone, vectors, lengths)

    def check_first_texts(self) -> None:
        """Raise an error unless the budget leaves something to search with when there is a map."""
        settings = self.settings
        least = min([settings.max_encoder_calls, *settings.report_at])
        if least <= settings.first_texts:
            raise UsageError(
                f"An adapter without pairs embeds {settings.first_texts} texts before it searches; {least} "
                "encoder calls are too few.",
                hint=f"Allow more than {settings.first_texts} (--max-encoder-calls), or lower the option "
                "first_texts.",
            )

    def _within_time(self, run: InversionRun) -> GuidedSettings | None:
        """The settings with what is left of the deadline; None where no search is to be made."""
        settings = self.settings
        if run.interrupted or not settings.max_encoder_calls:
            return None
        if not settings.seconds:
            return settings
        left = settings.seconds - run.seconds
        return settings.model_copy(update={"seconds": left}) if left > 0 else None


def _state_observer(
    checkpoint: Checkpoint, observe: Observer
) -> Callable[[Sequence[SearchState]], Sequence[bool] | None]:
    """The observer as a search calls it, with those of its states that are still searched."""
    rows: dict[int, int] = {}
    rounds = 0

    def tell(states: Sequence[SearchState]) -> Sequence[bool] | None:
        nonlocal rounds
        if not rows:  # all of them, in the order of the vectors
            rows.update({id(state): row for row, state in enumerate(states)})
        updates = [_update(checkpoint, rows[id(state)], state, rounds) for state in states]
        rounds += 1
        return observe(updates)

    return tell


def _update(checkpoint: Checkpoint, row: int, state: SearchState, rounds: int) -> Update:
    best = state.best
    tokens = () if best is None else tuple(checkpoint.vocabulary.decode(best.entries))
    progress = SearchProgress(
        text="" if best is None else best.text,
        cosine=-1.0 if best is None else best.cosine,
        encoder_calls=state.calls,
        max_encoder_calls=state.settings.max_encoder_calls,
        found=state.found,
    )
    return Update(row, len(tokens), tokens, (), rounds, None, progress)


def make_writer(checkpoint: Checkpoint, encoder: Encoder) -> Writer | None:
    """What writes the model's texts for an encoder that tells more apart than the model's tokens do.

    The encoder is asked for that, once. None: they are written as the model writes them.
    """
    one, other = (
        checkpoint.tokenizer.encode(text, add_special_tokens=False).ids for text in ("The Cat", "the cat")
    )
    if one != other:  # the model writes capitals itself
        return None
    differences = written_differences(encoder)
    if not differences.case and not differences.spacing:
        return None
    return Writer(checkpoint.casing, cased=differences.case)


def check_guide(encoder: Encoder, checkpoint: Checkpoint) -> None:
    """Only an encoder whose vectors lie in the same space can guide."""
    wanted, given = checkpoint.config.encoder, encoder.info
    if given.dimension != wanted.dimension:
        raise MismatchError(
            f"The encoder '{given.name}' makes vectors of {given.dimension} numbers; this model inverts "
            f"vectors of {wanted.dimension}, made by '{wanted.name}'.",
            hint=f"Use --encoder {wanted.name}, or a surrogate that learnt its vectors.",
        )


def _base_reading(run: InversionRun, settings: GuidedSettings) -> BaseReading | None:
    """What an adapter's map is refitted with; None where it is not, and for a model without one."""
    if not isinstance(run.checkpoint, AdaptedCheckpoint) or run.base_encoder is None:
        return None
    if run.checkpoint.adapter.fit.get("pairs", math.inf) >= settings.refit_below:
        return None
    return BaseReading(run.base_encoder(), run.checkpoint, run.known)


def _result(
    checkpoint: Checkpoint,
    vector: NDArray[np.float32],
    plain: Inversion,
    state: SearchState,
    settings: GuidedSettings,
    config: InvertConfig,
) -> Inversion:
    decode = checkpoint.vocabulary.decode
    passes = plain.forward_passes + state.forward_passes
    if state.best is None:  # no call was allowed, or it was interrupted before the first
        others = plain.alternatives[: config.n_best - 1]
        return replace(plain, alternatives=others, forward_passes=passes)
    ranked, scores = rank(checkpoint, vector, state, config.n_best, length_known=plain.length_known)
    best = ranked[0]
    return Inversion(
        text=best.text,
        tokens=tuple(decode(best.entries)),
        score=scores[0],
        forward_passes=passes,
        length_known=plain.length_known,
        ranked_by="surrogate" if state.objective.by_surrogate else "encoder",
        alternatives=tuple(
            Alternative(one.text, tuple(decode(one.entries)), score)
            for one, score in zip(ranked[1:], scores[1:], strict=True)
        ),
        trace=_frames(checkpoint, state) if config.trace else None,
        encoder_calls=state.calls,
        cosine=best.cosine,
        advances=tuple(
            Advance(one.call, one.cosine, one.text, tuple(decode(one.entries))) for one in state.history
        ),
        at_calls=tuple(
            _after(checkpoint, vector, state, calls, length_known=plain.length_known)
            for calls in settings.report_at
        ),
    )


def _after(
    checkpoint: Checkpoint, vector: NDArray[np.float32], state: SearchState, calls: int, *, length_known: bool
) -> Advance:
    """What the search would have given had it ended after so many calls."""
    cut = replace(state, tried={text: one for text, one in state.tried.items() if one.call <= calls})
    [best], [score] = rank(checkpoint, vector, cut, 1, length_known=length_known)
    tokens = tuple(checkpoint.vocabulary.decode(best.entries))
    return Advance(min(calls, state.calls), best.cosine, best.text, tokens, score)


def rank(
    checkpoint: Checkpoint, vector: NDArray[np.float32], state: SearchState, count: int, *, length_known: bool
) -> tuple[list[Hypothesis], list[float]]:
    """The nearest texts and their scores; where cosines tie, the model's score decides.

    Where the cosines are a surrogate's, the search's own objective decides: only texts that came near
    enough to have a score are ranked.
    """
    scored = [one for one in state.tried.values() if one.text in state.denoiser_scores]
    if state.objective.by_surrogate and scored:
        ranked = sorted(scored, key=lambda one: -state.value(one))[:count]
        return ranked, [state.denoiser_scores[one.text] for one in ranked]
    nearest = sorted(state.tried.values(), key=lambda one: -one.cosine)
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


def _frames(checkpoint: Checkpoint, state: SearchState) -> tuple[Frame, ...]:
    """Every nearer text in turn."""
    return tuple(Frame(tuple(checkpoint.vocabulary.decode(one.entries)), one.text) for one in state.history)
