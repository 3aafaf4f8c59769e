"""A sweep: every text that is one word away from a near one, as far as the denoiser finds the word likely.

Random edits ask the denoiser anew for each draft. Here one pass over a text with one mask gives many: a
sequence for each place where a word may be replaced or missing, the likeliest words at each. There are
more of them than calls to spend, so a scout, or else the denoiser's own probability, says which to try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.decode.guided import Guided
from unembed.model.checkpoint import Checkpoint
from unembed.search.drafts import as_tokens, never_written
from unembed.search.edits import MASK, Entries

SWEPT = "sweep"  # what these drafts are said to be made by
ROWS = 256  # sequences a pass


class Neighbour(NamedTuple):
    """A text one word away."""

    entries: Entries
    log_prob: float  # of the word that was put in; where one was left out, what its rivals have on average


class _Row(NamedTuple):
    """A text with one mask, and what must not come there."""

    parent: int
    entries: Entries
    place: int
    was: int | None  # the word that stood there


class Swept(NamedTuple):
    """The neighbours of one text, and the forward passes that they took."""

    neighbours: list[Neighbour]
    passes: int


@dataclass(frozen=True)
class Sweep:
    """Neighbours of texts: the `words` likeliest at each place, put in or replacing, and all deletions."""

    checkpoint: Checkpoint
    words: int

    def around(
        self,
        texts: Sequence[Entries],
        targets: NDArray[np.float32],
        *,
        longest: int,
        lengths: Sequence[int | None],
    ) -> list[Swept]:
        """The neighbours of each text, each once, none of them the text itself.

        targets: [n, D], what each text is to say; lengths: how many tokens it must have, where that is known.
        """
        rows = [
            row
            for number, (text, length) in enumerate(zip(texts, lengths, strict=True))
            for row in _masked(number, text, longest, grow=length is None)
        ]
        found: list[dict[Entries, float]] = [{} for _ in texts]
        for size in sorted({len(row.entries) for row in rows}):
            bucket = [row for row in rows if len(row.entries) == size]
            for first in range(0, len(bucket), ROWS):
                part = bucket[first : first + ROWS]
                for row, words, log_prob in zip(part, *self._likely(part, targets), strict=True):
                    before, after = row.entries[: row.place], row.entries[row.place + 1 :]
                    rivals = dict(zip(words, log_prob, strict=True))
                    rivals.pop(-1 if row.was is None else row.was, None)
                    some = found[row.parent]
                    for word, value in rivals.items():
                        some.setdefault((*before, word, *after), value)
                    # The less sure a word, the likelier its rivals; leaving it out is one more of them.
                    if row.was is not None and lengths[row.parent] is None and before + after:
                        some.setdefault(before + after, float(np.log(np.exp([*rivals.values()]).mean())))
        passes = Counter(row.parent for row in rows)
        return [
            Swept([Neighbour(*one) for one in some.items() if one[0] != text], passes[number])
            for number, (some, text) in enumerate(zip(found, texts, strict=True))
        ]

    @torch.no_grad()
    def _likely(
        self, rows: Sequence[_Row], targets: NDArray[np.float32]
    ) -> tuple[list[list[int]], list[list[float]]]:
        """The likeliest words at the mask of each of these texts of one length.  # [m][words + 1], twice"""
        denoiser, banned = self.checkpoint.denoiser, never_written(self.checkpoint)
        tokens = as_tokens(self.checkpoint, [row.entries for row in rows])  # [m, L]
        wanted = tokens == denoiser.config.mask_id  # [m, L]
        # A vector is read once, however many of its text's places are asked for.
        parents = sorted({row.parent for row in rows})
        owner = torch.tensor([parents.index(row.parent) for row in rows], device=tokens.device)  # [m]
        model = Guided.read(
            denoiser,
            torch.from_numpy(targets[parents]).to(tokens.device),
            torch.full((len(parents),), tokens.shape[1], device=tokens.device),
            banned,
            0.0,
        ).select(owner)
        logits = model.logits(tokens, wanted.float().mean(dim=1), wanted)  # [m, V]
        top, word = logits.topk(min(self.words + 1, logits.shape[1] - len(banned)), dim=1)  # [m, words + 1]
        return word.tolist(), (top - logits.logsumexp(dim=1, keepdim=True)).tolist()


def _masked(number: int, text: Entries, longest: int, *, grow: bool) -> list[_Row]:
    """The text with a mask instead of each word, and, if it may grow, between any two."""
    rows = [_Row(number, (*text[:i], MASK, *text[i + 1 :]), i, text[i]) for i in range(len(text))]
    if grow and len(text) < longest:
        rows += [_Row(number, (*text[:i], MASK, *text[i:]), i, None) for i in range(len(text) + 1)]
    return rows
