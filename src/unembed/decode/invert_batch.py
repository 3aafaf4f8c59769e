"""A window of vectors: candidate lengths, one batch a length, the best texts of each vector by score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.alternatives import Alternatives
from unembed.decode.base import Decoder
from unembed.decode.denoising_loop import NOTHING, Decoded, Step, Watcher, decode_all
from unembed.decode.noise import combine, vector_seeds
from unembed.decode.rank import NORMALISE, likely_lengths, text_score
from unembed.decode.result import MASK, Alternative, Frame, Inversion
from unembed.model.checkpoint import Checkpoint
from unembed.model.vocabulary import END
from unembed.text import read_back

_T = TypeVar("_T")


@dataclass(frozen=True)
class Settings:
    """How to read vectors: one call's decisions."""

    decoder: Decoder
    steps: int | None = None
    n_best: int = 1
    seed: int = 0
    trace: bool = False
    candidates: int = 5
    guidance: float = 0.0
    batch: int = 64
    reuse: bool = False  # compute a token that stands only once
    shortlist: int = 0  # words a sequence after its first pass; 0 for all


@dataclass(frozen=True)
class _Candidate:
    """One hypothesis of one job."""

    job: int
    entries: tuple[int, ...]  # up to the end, without it
    score: float
    best: bool  # of its job: the one that a trace belongs to


@torch.no_grad()
def invert_batch(
    checkpoint: Checkpoint,
    window: NDArray[np.float32],
    lengths: Tensor | None,
    settings: Settings,
    watch: Watcher | None = None,
) -> list[Inversion]:
    """Texts of the vectors [n, D]; `lengths` [n] where the caller knows them.

    `watch` sees the steps of one length after the other; a step's rows are numbers of vectors. A vector
    that it gives up before any of its lengths is done has an empty text.
    """
    if not len(window):
        return []
    denoiser = checkpoint.denoiser
    device = denoiser.output_bias.device
    vectors = torch.from_numpy(np.ascontiguousarray(window)).to(device)  # [n, D]
    owner = torch.arange(len(window))  # [J] whose candidate a job is
    length_log_prob = torch.zeros(len(window))  # [J]
    length_known = lengths is not None
    if denoiser.config.length == "fixed":
        lengths = torch.full((len(window),), denoiser.config.max_length)
    elif lengths is None:
        logits = denoiser.length_logits(vectors).cpu()  # [n, max_length + 1]
        owner, lengths, length_log_prob = likely_lengths(logits, settings.candidates)
    decoder = settings.decoder
    if decoder.width == 1 and settings.n_best > 1:
        needed = _needed(settings.n_best, owner)  # [n]
        if bool((needed != needed[0]).any()):
            # How many hypotheses a vector gets must not depend on its neighbours.
            known = lengths if length_known else None
            return _apart(checkpoint, window, known, settings, watch, needed)
        decoder = decoder if needed[0] == 1 else Alternatives(decoder, int(needed[0]))
    decoded = decode_all(
        denoiser,
        vectors[owner.to(device)],
        lengths.to(device),
        decoder,
        batch=max(1, settings.batch // decoder.width),
        steps=settings.steps,
        seeds=combine(vector_seeds(window, settings.seed)[owner], lengths).to(device),
        trace=settings.trace,
        banned=[checkpoint.vocabulary.unknown],
        guidance=settings.guidance,
        end=checkpoint.vocabulary.end if checkpoint.vocabulary.fixed_length else None,
        watch=None if watch is None else _of_owners(watch, owner.to(device)),
        reuse=settings.reuse,
        shortlist=settings.shortlist,
    )
    candidates = _candidates(checkpoint, decoded, length_log_prob)
    return _rank(checkpoint, decoded, owner, candidates, settings, length_known)


def _needed(n_best: int, owner: Tensor) -> Tensor:
    """Hypotheses a job that make `n_best` texts of each vector. owner: [J]  # [n]"""
    jobs = torch.bincount(owner)  # [n]
    return torch.div(n_best + jobs - 1, jobs, rounding_mode="floor")


def _apart(
    checkpoint: Checkpoint,
    window: NDArray[np.float32],
    lengths: Tensor | None,
    settings: Settings,
    watch: Watcher | None,
    needed: Tensor,
) -> list[Inversion]:
    """The window in parts whose vectors need equally many hypotheses, put together in its order."""
    found: dict[int, Inversion] = {}
    for count in sorted(set(needed.tolist())):
        rows = (needed == count).nonzero().squeeze(1)  # [k]
        part = invert_batch(
            checkpoint,
            window[rows.numpy()],
            None if lengths is None else lengths[rows],
            settings,
            None if watch is None else _of_owners(watch, rows),
        )
        found.update(zip(rows.tolist(), part, strict=True))
    return [found[row] for row in range(len(window))]


def _of_owners(watch: Watcher, owner: Tensor) -> Watcher:
    """The same watcher, told whose the rows are."""

    def tell(step: Step) -> Tensor | None:
        return watch(replace(step, rows=owner.to(step.rows.device)[step.rows]))

    return tell


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
            said = [entry for entry in text if entry != NOTHING]
            stop = said.index(end) if end in said else len(said)
            log_prob_sum, length_part = sum(value[: stop + 1]), float(length_log_prob[job])
            score = text_score(log_prob_sum, length_part, stop, normalise=normalise)
            out.append(_Candidate(job, tuple(said[:stop]), score, number == 0))
    return out


def _rank(
    checkpoint: Checkpoint,
    decoded: Decoded,
    owner: Tensor,
    candidates: list[_Candidate],
    settings: Settings,
    length_known: bool,
) -> list[Inversion]:
    owners = owner.tolist()
    ids = [checkpoint.vocabulary.decode(one.entries) for one in candidates]
    texts = read_back(checkpoint.tokenizer, ids)
    grouped: dict[int, list[tuple[_Candidate, list[int], str]]] = defaultdict(list)
    for one, tokens, text in zip(candidates, ids, texts, strict=True):
        grouped[owners[one.job]].append((one, tokens, text))
    passes = torch.zeros(max(owners) + 1, dtype=torch.long)
    passes.index_add_(0, owner, decoded.forward_passes.cpu())
    out = []
    for row in sorted(grouped):
        (winner, tokens, text), *others = ranked_texts(
            grouped[row],
            text=lambda item: item[2],
            score=lambda item: item[0].score,
            best=lambda item: item[0].best,
        )[: settings.n_best]
        out.append(
            Inversion(
                text=text,
                tokens=tuple(tokens),
                score=winner.score,
                forward_passes=int(passes[row]),
                length_known=length_known,
                alternatives=tuple(Alternative(t, tuple(ids), one.score) for one, ids, t in others),
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


def _frames(checkpoint: Checkpoint, story: tuple[Tensor, ...]) -> tuple[Frame, ...]:
    """A trace in the tokenizer's ids, each step readable."""
    vocabulary, mask = checkpoint.vocabulary, checkpoint.denoiser.config.mask_id
    out = []
    for state in story:
        tokens: list[int | None] = []
        for entry in state.tolist():
            if entry == mask:
                tokens.append(None)
            elif (token := int(vocabulary.token_ids[entry])) >= 0:
                tokens.append(token)
            elif token == END:
                break
        out.append(Frame(tuple(tokens), readable(checkpoint, tokens)))
    return tuple(out)


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
