"""A window of vectors: candidate lengths, one batch a length, the best texts of each vector by score."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.data.align import read_back
from unembed.decode.base import Decoder
from unembed.decode.drafts import Drafts
from unembed.decode.loop import NOTHING, Decoded, decode_all
from unembed.decode.noise import combine, vector_seeds
from unembed.decode.rank import likely_lengths, text_score
from unembed.decode.result import MASK, Alternative, Frame, Inversion
from unembed.model.checkpoint import Checkpoint
from unembed.model.vocabulary import END


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


@dataclass(frozen=True)
class _Candidate:
    """One hypothesis of one job."""

    job: int
    entries: tuple[int, ...]  # up to the end, without it
    score: float
    best: bool  # of its job: the one that a trace belongs to


@torch.no_grad()
def invert_window(
    checkpoint: Checkpoint, window: NDArray[np.float32], lengths: Tensor | None, settings: Settings
) -> list[Inversion]:
    """Texts of the vectors [n, D]; `lengths` [n] where the caller knows them."""
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
    decoder = _several(settings.decoder, settings.n_best, owner)
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
    )
    candidates = _candidates(checkpoint, decoded, length_log_prob)
    return _rank(checkpoint, decoded, owner, candidates, settings, length_known)


def _several(decoder: Decoder, n_best: int, owner: Tensor) -> Decoder:
    """A decoder that makes enough hypotheses for `n_best` texts of every vector."""
    fewest = int(torch.bincount(owner).min())  # jobs of the vector that has the fewest
    if decoder.width > 1 or fewest >= n_best:
        return decoder
    return Drafts(decoder, math.ceil(n_best / fewest))


def _candidates(checkpoint: Checkpoint, decoded: Decoded, length_log_prob: Tensor) -> list[_Candidate]:
    """Every hypothesis with its score; what a fixed-length model says after the end does not count."""
    vocabulary = checkpoint.vocabulary
    end = vocabulary.end if vocabulary.fixed_length else None
    tokens = torch.cat([decoded.tokens[:, None], decoded.others], dim=1).tolist()  # [J, W, L]
    log_prob = torch.cat([decoded.log_prob[:, None], decoded.others_log_prob], dim=1).tolist()
    out = []
    for job, (texts, values) in enumerate(zip(tokens, log_prob, strict=True)):
        for number, (text, value) in enumerate(zip(texts, values, strict=True)):
            said = [entry for entry in text if entry != NOTHING]
            stop = said.index(end) if end in said else len(said)
            score = text_score(sum(value[: stop + 1]), float(length_log_prob[job]), stop)
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
        # Of equal scores, the job's own best comes first: its trace is the one that is known.
        ranked = sorted(grouped[row], key=lambda item: (-item[0].score, not item[0].best))
        unique = list({text: (one, tokens, text) for one, tokens, text in reversed(ranked)}.values())[::-1]
        (winner, tokens, text), *others = unique[: settings.n_best]
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
