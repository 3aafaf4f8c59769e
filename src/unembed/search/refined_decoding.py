"""Decoding, and then a climb: the denoiser's texts are edited as a surrogate of the encoder asks.

There is no call of the encoder. It needs what comes with a model: a surrogate, phrases and a lexical head;
where one of them is missing, the denoiser's text stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.base import Decoder
from unembed.decode.result import Alternative, Frame, Inversion
from unembed.decode.score import Scored, scored_texts
from unembed.decode.strategy import Decoding, InversionRun
from unembed.decode.surrogate_ranking import SCORE_WEIGHT
from unembed.invert_config import InvertConfig
from unembed.search.climb import WANTED_WORDS, Candidate, Climb, Target
from unembed.search.edits import Entries
from unembed.search.error_model import unit
from unembed.search.masked_texts import banned_entries
from unembed.search.word_edits import Wanted, likely_words

FINALISTS = 2  # texts of a climb that the denoiser reads again, and another one for every two rounds
SCORING = 2  # sequences per text by which it says how likely it is


class _Finalist(NamedTuple):
    """One of the best texts of a climb."""

    candidate: Candidate
    scored: Scored
    value: float


@dataclass(frozen=True)
class RefinedDecoding:
    """A decoder as a strategy, its texts refined where the run has a surrogate to go by."""

    decoder: Decoder
    needs_encoder: ClassVar[bool] = False

    def invert(
        self, run: InversionRun, vectors: NDArray[np.float32], lengths: Tensor | None
    ) -> list[Inversion]:
        config, plain = run.config.with_effort(self.decoder.name), Decoding(self.decoder)
        if not config.refine or not len(vectors) or not _can_refine(run):
            return plain.invert(run, vectors, lengths)
        found = plain.invert(_first_run(run, config), vectors, lengths)
        # A vector that an observer gave up has no text, and gets none.
        rows = [row for row, one in enumerate(found) if one.tokens]
        targets = _targets(run, vectors[rows], None if lengths is None else lengths[rows], rows)
        _climb(run).run(targets, [_texts(run, found[row]) for row in rows], config.refine)
        refined = _refined(run, vectors[rows], targets, [found[row] for row in rows], config.refine)
        for row, one in zip(rows, refined, strict=True):
            found[row] = one
        return found


def _first_run(run: InversionRun, config: InvertConfig) -> InversionRun:
    """The decoder's part: all of its texts, and half of the passes where their number was left to us.

    The climb mends in less time what the other half would. Behind an adapter it does not: the surrogate knows
    less of such an encoder (docs/decoding.md).
    """
    steps = run.config.steps
    if steps is None and config.steps is not None and run.checkpoint.denoiser.config.native_dim is None:
        steps = max(1, config.steps // 2)
    starts = max(config.hypotheses or 1, config.n_best)
    return replace(run, config=run.config.model_copy(update={"n_best": starts, "steps": steps}))


def _can_refine(run: InversionRun) -> bool:
    return (
        run.surrogate is not None and run.phrases is not None and run.checkpoint.denoiser.lexical is not None
    )


def _climb(run: InversionRun) -> Climb:
    """One for all batches of a run: it remembers the words that it has read."""
    if "climb" not in run.memory:
        assert run.surrogate is not None
        assert run.phrases is not None
        assert run.word_vectors is not None
        run.memory["climb"] = Climb(run.checkpoint, run.surrogate, run.phrases, run.word_vectors)
    found: Climb = run.memory["climb"]
    return found


def _texts(run: InversionRun, found: Inversion) -> list[Entries]:
    """The texts of a vector that decoding gave, as the model's entries."""
    tokens = [found.tokens, *(one.tokens for one in found.alternatives)]
    encode = run.checkpoint.vocabulary.encode
    return [tuple(encode(np.array(one, dtype=np.int64)).tolist()) for one in tokens]


@torch.no_grad()
def _targets(
    run: InversionRun,
    vectors: NDArray[np.float32],
    lengths: Tensor | None,
    rows: Sequence[int],
) -> list[Target]:
    denoiser, banned = run.checkpoint.denoiser, banned_entries(run.checkpoint)
    assert denoiser.lexical is not None
    given = torch.from_numpy(np.ascontiguousarray(vectors)).to(denoiser.output_bias.device)  # [n, D]
    lexical = denoiser.lexical(denoiser.read(given)).float().cpu().numpy()  # [n, V]
    return [
        Target(
            vector,
            Wanted(likely_words(words, WANTED_WORDS, banned), words),
            first=0 if run.beginnings is None else len(run.beginnings[row]),
            length=None if lengths is None else int(lengths[number]),
        )
        for number, (row, vector, words) in enumerate(zip(rows, unit(vectors), lexical, strict=True))
    ]


def _refined(
    run: InversionRun,
    vectors: NDArray[np.float32],
    targets: Sequence[Target],
    plain: Sequence[Inversion],
    rounds: int,
) -> list[Inversion]:
    """The best texts of each climb, the denoiser's score counted in, as it is for the decoder's own."""
    count = max(FINALISTS + rounds // 2, run.config.n_best)
    last = [target.distinct(count) for target in targets]
    wanted = [(row, one) for row, some in enumerate(last) for one in some]
    scores = scored_texts(
        run.checkpoint,
        [one.entries for _, one in wanted],
        vectors[[row for row, _ in wanted]],
        length_known=bool(plain) and plain[0].length_known,
        passes=SCORING,
    )
    by_row: list[list[_Finalist]] = [[] for _ in targets]
    for (row, one), scored in zip(wanted, scores, strict=True):
        by_row[row].append(_Finalist(one, scored, one.value + SCORE_WEIGHT * scored.score))
    return [
        _inversion(run, one, sorted(some, key=lambda item: -item.value))
        for one, some in zip(plain, by_row, strict=True)
    ]


def _inversion(run: InversionRun, plain: Inversion, best: Sequence[_Finalist]) -> Inversion:
    decode = run.checkpoint.vocabulary.decode
    (first, scored, _), *others = best
    tokens = tuple(decode(first.entries))
    trace = plain.trace
    if trace is not None and tokens != plain.tokens:
        trace = (*trace, Frame(tokens, first.text))
    return replace(
        plain,
        text=first.text,
        tokens=tokens,
        score=scored.score,
        log_probs=scored.log_probs,
        forward_passes=plain.forward_passes + sum(min(len(one.entries), SCORING) for one, _, _ in best),
        alternatives=tuple(
            Alternative(one.text, tuple(decode(one.entries)), score.score)
            for one, score, _ in others[: run.config.n_best - 1]
        ),
        trace=trace,
    )
