"""A batch of vectors: the likeliest lengths of each, denoised, and the best texts by score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.alternatives import Alternatives
from unembed.decode.base import Decoder
from unembed.decode.beginnings import Entries, longer_than, start_from
from unembed.decode.denoising_loop import NOTHING, Decoded, Step, Watcher, decode_all
from unembed.decode.noise import combine, vector_seeds
from unembed.decode.observer import Observer, Update
from unembed.decode.rank import NORMALISE, likely_lengths, text_score
from unembed.decode.result import MASK, Alternative, Frame, Inversion
from unembed.decode.surrogate_ranking import SCORE_WEIGHT, surrogate_cosines
from unembed.encoders.base import Encoder
from unembed.invert_config import InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.model.vocabulary import END
from unembed.text import read_back

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Candidate:
    """One hypothesis of one job."""

    job: int
    entries: tuple[int, ...]  # up to the end, without it
    log_probs: tuple[float, ...]  # of the entries
    score: float
    best: bool  # of its job: the one that a trace belongs to


class _Ranked(NamedTuple):
    """A hypothesis, and what it is ranked by."""

    candidate: _Candidate
    text: str
    value: float


@torch.no_grad()
def invert_batch(
    checkpoint: Checkpoint,
    batch: NDArray[np.float32],
    lengths: Tensor | None,
    decoder: Decoder,
    config: InvertConfig,
    observe: Observer | None = None,
    surrogate: Encoder | None = None,
    beginnings: Sequence[Entries] | None = None,
) -> list[Inversion]:
    """Texts of the vectors [n, D]; `lengths` [n] where the caller knows them, or how each text begins.

    With a `surrogate` of the encoder, the best of a vector's hypotheses is the one whose vector comes
    nearest by it. `observe` sees the steps of all candidate lengths. A vector that it gives up before
    any of its lengths is done has an empty text.
    """
    if not len(batch):
        return []
    denoiser = checkpoint.denoiser
    device = denoiser.output_bias.device
    config = config.with_effort(decoder.name)
    assert config.num_lengths is not None
    assert config.hypotheses is not None
    vectors = torch.from_numpy(np.ascontiguousarray(batch)).to(device)  # [n, D]
    owner = torch.arange(len(batch))  # [J] whose candidate a job is
    length_log_prob = torch.zeros(len(batch))  # [J]
    length_known = lengths is not None
    if denoiser.config.length == "fixed":
        lengths = torch.full((len(batch),), denoiser.config.max_length)
    elif lengths is None:
        logits = denoiser.length_logits(vectors).cpu()  # [n, max_length + 1]
        logits = logits if beginnings is None else longer_than(logits, beginnings)
        owner, lengths, length_log_prob = likely_lengths(logits, config.num_lengths)
    hypotheses = max(config.n_best, config.hypotheses if surrogate is not None else 1)
    if decoder.width == 1 and hypotheses > 1:
        needed = _needed(hypotheses, owner)  # [n]
        if bool((needed != needed[0]).any()):
            # How many hypotheses a vector gets must not depend on its neighbours.
            known = lengths if length_known else None
            return _apart(checkpoint, batch, known, decoder, config, observe, surrogate, beginnings, needed)
        decoder = decoder if needed[0] == 1 else Alternatives(decoder, int(needed[0]))
    start = None
    if beginnings is not None:
        start = start_from([beginnings[row] for row in owner.tolist()], lengths, denoiser.config.mask_id)
    decoded = decode_all(
        denoiser,
        vectors[owner.to(device)],
        lengths.to(device),
        decoder,
        config,
        batch=max(1, config.batch_size // decoder.width),
        seeds=combine(vector_seeds(batch, config.seed)[owner], lengths).to(device),
        trace=config.trace,
        banned=[checkpoint.vocabulary.unknown],
        end=checkpoint.vocabulary.end if checkpoint.vocabulary.fixed_length else None,
        start=None if start is None else start.to(device),
        watch=None if observe is None else _as_watcher(checkpoint, observe, owner),
    )
    candidates = _candidates(checkpoint, decoded, length_log_prob)
    texts = _texts(checkpoint, candidates)
    values = [one.score for one in candidates]
    if surrogate is not None:
        near = surrogate_cosines(surrogate, texts, batch[[int(owner[one.job]) for one in candidates]])
        values = [cosine + SCORE_WEIGHT * value for cosine, value in zip(near, values, strict=True)]
    ranked = [_Ranked(*item) for item in zip(candidates, texts, values, strict=True)]
    found = _rank(checkpoint, decoded, owner, ranked, config.n_best, length_known)
    return found if surrogate is None else [replace(one, ranked_by="surrogate") for one in found]


def _needed(n_best: int, owner: Tensor) -> Tensor:
    """Hypotheses per job that make `n_best` texts of each vector. owner: [J]  # [n]"""
    jobs = torch.bincount(owner)  # [n]
    return torch.div(n_best + jobs - 1, jobs, rounding_mode="floor")


def _apart(
    checkpoint: Checkpoint,
    batch: NDArray[np.float32],
    lengths: Tensor | None,
    decoder: Decoder,
    config: InvertConfig,
    observe: Observer | None,
    surrogate: Encoder | None,
    beginnings: Sequence[Entries] | None,
    needed: Tensor,
) -> list[Inversion]:
    """The batch in parts whose vectors need equally many hypotheses, put together in its order."""
    found: dict[int, Inversion] = {}
    for count in sorted(set(needed.tolist())):
        rows = (needed == count).nonzero().squeeze(1)  # [k]
        part = invert_batch(
            checkpoint,
            batch[rows.numpy()],
            None if lengths is None else lengths[rows],
            decoder,
            config,
            None if observe is None else _renumbered(observe, rows.tolist()),
            surrogate,
            None if beginnings is None else [beginnings[row] for row in rows.tolist()],
        )
        found.update(zip(rows.tolist(), part, strict=True))
    return [found[row] for row in range(len(batch))]


def _renumbered(observe: Observer, rows: list[int]) -> Observer:
    """The same observer for a part of the batch: it gets rows of the whole batch."""
    return lambda updates: observe([replace(one, row=rows[one.row]) for one in updates])


def _as_watcher(checkpoint: Checkpoint, observe: Observer, owner: Tensor) -> Watcher:
    """The observer as the denoising loop calls it; `owner` [J] says whose candidate length a row is."""
    rows = owner.tolist()

    def watch(step: Step) -> Tensor | None:
        wanted = observe([_update(checkpoint, step, index, rows) for index in range(len(step.rows))])
        return None if wanted is None else torch.tensor(wanted, dtype=torch.bool)

    return watch


def _update(checkpoint: Checkpoint, step: Step, index: int, owner: list[int]) -> Update:
    length = int(step.lengths[index])
    tokens, log_probs = _revealed(
        checkpoint, step.tokens[index, :length].tolist(), step.log_prob[index, :length].tolist()
    )
    return Update(
        row=owner[int(step.rows[index])],
        length=length,
        tokens=tuple(tokens),
        log_probs=tuple(log_probs),
        step=step.number,
        steps=int(step.steps[index]),
    )


def _candidates(checkpoint: Checkpoint, decoded: Decoded, length_log_prob: Tensor) -> list[_Candidate]:
    """Every hypothesis with its score; what a fixed-length model says after the end does not count."""
    vocabulary = checkpoint.vocabulary
    end = vocabulary.end if vocabulary.fixed_length else None
    # A text that ends itself has its length among its tokens: nothing is to be balanced.
    normalise = NORMALISE if end is None else 0.0
    tokens = torch.cat([decoded.tokens[:, None], decoded.others], dim=1).tolist()  # [J, W, L]
    log_prob = torch.cat([decoded.log_prob[:, None], decoded.others_log_prob], dim=1).tolist()
    out = []
    for job, (texts, values) in enumerate(zip(tokens, log_prob, strict=True)):
        for number, (text, value) in enumerate(zip(texts, values, strict=True)):
            entries = [entry for entry in text if entry != NOTHING]
            stop = entries.index(end) if end in entries else len(entries)
            log_prob_sum, length_part = sum(value[: stop + 1]), float(length_log_prob[job])
            score = text_score(log_prob_sum, length_part, stop, normalise=normalise)
            out.append(_Candidate(job, tuple(entries[:stop]), tuple(value[:stop]), score, number == 0))
    return out


def _texts(checkpoint: Checkpoint, candidates: Sequence[_Candidate]) -> list[str]:
    return read_back(checkpoint.tokenizer, [checkpoint.vocabulary.decode(one.entries) for one in candidates])


def _rank(
    checkpoint: Checkpoint,
    decoded: Decoded,
    owner: Tensor,
    candidates: Sequence[_Ranked],
    n_best: int,
    length_known: bool,
) -> list[Inversion]:
    owners, decode = owner.tolist(), checkpoint.vocabulary.decode
    grouped: dict[int, list[_Ranked]] = defaultdict(list)
    for ranked in candidates:
        grouped[owners[ranked.candidate.job]].append(ranked)
    passes = torch.zeros(max(owners) + 1, dtype=torch.long)
    passes.index_add_(0, owner, decoded.forward_passes.cpu())
    out = []
    for row in sorted(grouped):
        first, *others = ranked_texts(
            grouped[row],
            text=lambda item: item.text,
            score=lambda item: item.value,
            best=lambda item: item.candidate.best,
        )[:n_best]
        winner = first.candidate
        out.append(
            Inversion(
                text=first.text,
                tokens=tuple(decode(winner.entries)),
                score=winner.score,
                forward_passes=int(passes[row]),
                length_known=length_known,
                log_probs=winner.log_probs,
                alternatives=tuple(
                    Alternative(one.text, tuple(decode(one.candidate.entries)), one.candidate.score)
                    for one in others
                ),
                trace=None if decoded.trace is None else _frames(checkpoint, decoded.trace[winner.job]),
            )
        )
    return out


def ranked_texts(
    items: Iterable[_T],
    *,
    text: Callable[[_T], str],
    score: Callable[[_T], float],
    best: Callable[[_T], bool],
) -> list[_T]:
    """Best first; of equal texts only the best one stays.

    Of equal scores, a sequence's own best hypothesis comes first: its trace is the one that is known.
    """
    ranked = sorted(items, key=lambda item: (-score(item), not best(item)))
    unique: dict[str, _T] = {}
    for item in ranked:
        unique.setdefault(text(item), item)
    return list(unique.values())


def _frames(checkpoint: Checkpoint, trace: tuple[Tensor, ...]) -> tuple[Frame, ...]:
    """A trace in the tokenizer's ids, each step readable."""
    out = []
    for state in trace:
        tokens, _ = _revealed(checkpoint, state.tolist(), [0.0] * len(state))
        out.append(Frame(tuple(tokens), readable(checkpoint, tokens)))
    return tuple(out)


def _revealed(
    checkpoint: Checkpoint, entries: list[int], log_prob: list[float]
) -> tuple[list[int | None], list[float]]:
    """The tokenizer's ids up to the end, None for a mask; and the log-probability of each."""
    token_ids, mask = checkpoint.vocabulary.token_ids, checkpoint.denoiser.config.mask_id
    tokens: list[int | None] = []
    values = []
    for entry, value in zip(entries, log_prob, strict=True):
        token = None if entry == mask else int(token_ids[entry])
        if token == END:
            break
        if token is None or token >= 0:
            tokens.append(token)
            values.append(value)
    return tokens, values


def readable(checkpoint: Checkpoint, tokens: list[int | None]) -> str:
    """The text with a `░` for each mask."""
    parts = []
    for masked, run in groupby(tokens, key=lambda token: token is None):
        group = list(run)
        parts.append(
            " ".join(MASK * len(group))
            if masked
            else read_back(checkpoint.tokenizer, [[token for token in group if token is not None]])[0]
        )
    return " ".join(parts)
