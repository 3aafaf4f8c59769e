"""From the model's entries to candidates: written texts, and what is known of them before an encoder call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.search.candidate_pool import CandidatePool
from unembed.search.edits import Entries
from unembed.search.error_model import Floats
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import SearchState
from unembed.search.written_form import Form, Writer


class CandidateReader:
    """Reads the texts of all states together."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        prefilter: SurrogatePrefilter | None,
        phrases: Phrases | None,
        writer: Writer | None = None,
    ) -> None:
        self._checkpoint, self._prefilter, self._phrases = checkpoint, prefilter, phrases
        self._writer = writer

    def read(
        self,
        states: Sequence[SearchState],
        entries: Sequence[Sequence[Entries]],
        forms: Sequence[Sequence[Form | None]],
    ) -> list[tuple[list[int], CandidatePool]]:
        """For each state, the indices of its entries that make a new text, each text once, and their pool.

        forms: how each is written, where there is a writer.
        """
        plain = self._checkpoint.texts([one for some in entries for one in some])
        if self._writer is not None:
            wanted = [form for some in forms for form in some]
            plain = [self._writer.write(text, form) for text, form in zip(plain, wanted, strict=True)]
        read = iter(plain)
        new: list[list[int]] = []
        pools: list[CandidatePool] = []
        for state, some in zip(states, entries, strict=True):
            texts = [next(read) for _ in some]
            indices = state.new_indices(texts)
            new.append(indices)
            pools.append(CandidatePool([texts[i] for i in indices], [some[i] for i in indices]))
        if self._prefilter is not None:
            vectors = self._prefilter.embed([pool.texts for pool in pools])
            pools = [replace(pool, by_surrogate=own) for pool, own in zip(pools, vectors, strict=True)]
        if self._phrases is not None:
            pools = [
                replace(pool, trigram_log_probs=trigram_log_probs(self._phrases, pool.entries))
                for pool in pools
            ]
        return list(zip(new, pools, strict=True))


def trigram_log_probs(phrases: Phrases, texts: Sequence[Entries]) -> Floats:
    """How likely texts without masks are by their trigrams, in nats: each further word costs some.  # [n]"""
    return np.array(phrases.trigram_log_probs(texts), dtype=np.float32)
