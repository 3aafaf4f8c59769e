"""Single-edit neighbours: the texts one word away from another, as far as the denoiser finds the word likely.

A random edit takes a forward pass of its own. Here one pass over a text with one mask gives many neighbours:
a sequence per position where a word may be replaced or missing, the likeliest words at each. There are more
of them than calls to spend: a surrogate, or else the denoiser's probability, says which to try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.conditioned import ConditionedDenoiser
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import MASK, Entries
from unembed.search.masked_texts import as_tokens, banned_entries

NEIGHBOUR = "neighbour"  # `made_by` of these texts
ROWS = 256  # sequences per pass, about


class Neighbour(NamedTuple):
    """A text one word away."""

    entries: Entries
    log_prob: float  # of the word that was inserted; where one was left out, the mean of its rivals
    added: int | None = None  # the word that it has and the other text had not in that position
    removed: int | None = None  # the word that stood there
    missing: bool = False  # the word is one that the vector speaks of and the text does not have


class _Gap(NamedTuple):
    """Where a word may come: instead of the one at a position, or before it."""

    position: int
    was: int | None  # the word at that position, if it is to be replaced

    def put(self, text: Entries, word: int) -> Entries:
        return (*text[: self.position], word, *text[self.position + (self.was is not None) :])


class _Row(NamedTuple):
    """A text with a mask in each of some gaps, from the left to the right."""

    parent: int
    entries: Entries
    gaps: tuple[_Gap, ...]


class Neighbours(NamedTuple):
    """The neighbours of one text, and the forward passes that they took."""

    neighbours: list[Neighbour]
    passes: int


class _Answer(NamedTuple):
    """What the denoiser says of one gap."""

    words: dict[int, float]  # the likeliest, with their log-probabilities
    missing: dict[int, float]  # words that the text lacks and that fit nowhere better


@dataclass(frozen=True)
class SingleEdits:
    """Neighbours of texts: the likeliest words per position, inserted or replacing, and all deletions.

    A word that is not among the likeliest of any position may still be what the text lacks: of the words that
    the lexical head expects and the text does not have, each is put where it fits best.
    """

    checkpoint: Checkpoint
    words_per_position: int
    missing_words: int = 0
    words_per_mask: int = 5

    def around(
        self,
        texts: Sequence[Entries],
        targets: NDArray[np.float32],
        *,
        max_length: int,
        lengths: Sequence[int | None],
    ) -> list[Neighbours]:
        """The neighbours of each text, each once, none of them the text itself.

        targets: [n, D], what each text is to say; lengths: how many tokens it must have, where that is known.
        """
        rows = [
            row
            for number, (text, length) in enumerate(zip(texts, lengths, strict=True))
            for row in _masked(number, text, max_length, self.words_per_mask, grow=length is None)
        ]
        found: list[dict[Entries, Neighbour]] = [{} for _ in texts]
        for part in _parts(rows):
            asked = [(row.parent, gap) for row in part for gap in row.gaps]
            for (parent, gap), answer in zip(asked, self._ask(part, texts, targets), strict=True):
                for one in _at_gap(texts[parent], gap, answer, shrink=lengths[parent] is None):
                    found[parent].setdefault(one.entries, one)
        passes = Counter(row.parent for row in rows)
        return [
            Neighbours([one for one in some.values() if one.entries != text], passes[number])
            for number, (some, text) in enumerate(zip(found, texts, strict=True))
        ]

    @torch.no_grad()
    def _ask(
        self, rows: Sequence[_Row], texts: Sequence[Entries], targets: NDArray[np.float32]
    ) -> list[_Answer]:
        """What could come at each mask of these sequences."""
        denoiser, banned = self.checkpoint.denoiser, banned_entries(self.checkpoint)
        tokens, lengths = as_tokens(self.checkpoint, [row.entries for row in rows])  # [m, L], [m]
        wanted = tokens == denoiser.config.mask_id  # [m, L]
        # A vector is read once for each length, however many positions of its text are masked.
        kinds = [(row.parent, length) for row, length in zip(rows, lengths.tolist(), strict=True)]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        owner = torch.tensor([numbers[kind] for kind in kinds], device=tokens.device)  # [m]
        model = ConditionedDenoiser.read(
            denoiser,
            torch.from_numpy(targets[[parent for parent, _ in numbers]]).to(tokens.device),
            torch.tensor([length for _, length in numbers], device=tokens.device),
            banned,
            0.0,
        )
        logits = model.select(owner).logits(tokens, wanted.sum(dim=1) / lengths, wanted)  # [masks, V]
        logits = logits - logits.logsumexp(dim=1, keepdim=True)
        count = min(self.words_per_position + 1, logits.shape[1] - len(banned))
        top, word = logits.topk(count, dim=1)  # [masks, count]
        out = [
            _Answer(dict(zip(*some, strict=True)), {})
            for some in zip(word.tolist(), top.tolist(), strict=True)
        ]
        lexical = model.reading.prepared.lexical  # [kinds, V]
        if self.missing_words and lexical is not None:
            mask_owner = owner[wanted.nonzero()[:, 0]]  # [masks]
            for (parent, _), number in numbers.items():
                mine = (mask_owner == number).nonzero().squeeze(1)  # [k]
                lacking = self._lacking(lexical[number], [*texts[parent], *banned])  # [missing_words]
                _put_where_they_fit(lacking, mine, logits, out)
        return out

    def _lacking(self, lexical: Tensor, others: Sequence[int]) -> Tensor:
        """The likeliest words by these logits [V] that are none of the others.  # [missing_words]"""
        left = lexical.index_fill(0, torch.tensor(others, device=lexical.device), -torch.inf)  # [V]
        return left.topk(min(self.missing_words, int(left.isfinite().sum()))).indices


def _put_where_they_fit(words: Tensor, masks: Tensor, logits: Tensor, answers: Sequence[_Answer]) -> None:
    """Note each of these words [m] as missing at the likeliest of these masks [k]; logits: [masks, V]."""
    best, which = logits[masks][:, words].max(dim=0)  # [m]
    for word, mask, value in zip(words.tolist(), masks[which].tolist(), best.tolist(), strict=True):
        answers[mask].missing[word] = value


def _at_gap(text: Entries, gap: _Gap, answer: _Answer, *, shrink: bool) -> list[Neighbour]:
    """The neighbours that differ from a text at one gap; `shrink`: a word may also be left out."""
    rivals = {word: value for word, value in answer.words.items() if word != gap.was}
    out = [Neighbour(gap.put(text, word), value, word, gap.was) for word, value in rivals.items()]
    # The less sure a word, the likelier its rivals; leaving it out is one more of them.
    if gap.was is not None and shrink and len(text) > 1:
        without = (*text[: gap.position], *text[gap.position + 1 :])
        out.append(Neighbour(without, float(np.log(np.exp([*rivals.values()]).mean())), None, gap.was))
    missing = answer.missing.items()
    return [
        *out,
        *(Neighbour(gap.put(text, word), value, word, gap.was, missing=True) for word, value in missing),
    ]


def _parts(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Rows in passes. All of one text are in one: a missing word's best position is sought among them."""
    out: list[list[_Row]] = [[]]
    for _, group in groupby(rows, key=lambda row: row.parent):
        some = list(group)
        if out[-1] and len(out[-1]) + len(some) > ROWS:
            out.append([])
        out[-1] += some
    return out


def _masked(number: int, text: Entries, max_length: int, words_per_mask: int, *, grow: bool) -> list[_Row]:
    """The text with a mask instead of each word, and, if it may grow, between any two.

    A long text has several masks at once, far from each other; of those that make it longer, half as many.
    """
    replaced = [
        [_Gap(position, text[position]) for position in range(first, len(text), words_per_mask)]
        for first in range(min(words_per_mask, len(text)))
    ]
    grown: list[list[_Gap]] = []
    if grow and len(text) < max_length:
        more = min(1 + len(text) // (2 * words_per_mask), max_length - len(text))
        rows = -(-(len(text) + 1) // more)
        grown = [
            [_Gap(position, None) for position in range(first, len(text) + 1, rows)] for first in range(rows)
        ]
    return [_Row(number, _with_masks(text, gaps), tuple(gaps)) for gaps in (*replaced, *grown)]


def _with_masks(text: Entries, gaps: Sequence[_Gap]) -> Entries:
    """The text with all these masks, put in from the right, so that positions stay valid."""
    for gap in reversed(gaps):
        text = gap.put(text, MASK)
    return text
