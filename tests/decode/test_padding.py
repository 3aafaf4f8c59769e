"""Texts of different lengths in one batch: each is decoded as if it were alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given as examples
from hypothesis import strategies as st
from torch import Tensor

from unembed.decode import DECODERS, make_decoder
from unembed.decode.denoising_loop import FILLED, MOST_PADDING, NOTHING, decode, like_lengths
from unembed.invert_config import InversionOptions
from unembed.model.denoiser import Denoiser

LENGTHS = torch.tensor([3, 11, 7, 7, 1, 14, 2, 9, 5])


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("saving", [{}, {"kv_cache": True}, {"shortlist": 12}], ids=str)
def test_a_padded_sequence_is_decoded_as_if_it_were_alone(
    given: Denoiser, vectors: Tensor, name: str, saving: dict[str, object]
) -> None:
    options, seeds = InversionOptions(steps=4, **saving), torch.arange(len(vectors))
    together = decode(given, vectors, LENGTHS, make_decoder(name), options, seeds=seeds, trace=True)
    for row, length in enumerate(LENGTHS.tolist()):
        one = slice(row, row + 1)
        alone = decode(
            given, vectors[one], LENGTHS[one], make_decoder(name), options, seeds=seeds[one], trace=True
        )
        assert torch.equal(together.tokens[row, :length], alone.tokens[0])
        assert (together.tokens[row, length:] == NOTHING).all()
        assert torch.allclose(together.log_prob[row, :length], alone.log_prob[0], atol=1e-6)
        assert int(together.forward_passes[row]) == int(alone.forward_passes[0])
        assert together.trace is not None
        assert alone.trace is not None
        assert all(map(torch.equal, together.trace[row], alone.trace[0]))


@examples(st.lists(st.integers(1, 32), max_size=200), st.integers(1, 64))
def test_like_lengths_are_every_row_once_in_batches_with_little_padding(
    lengths: list[int], batch: int
) -> None:
    parts = list(like_lengths(torch.tensor(lengths, dtype=torch.long), batch))
    rows = [row for part in parts for row in part.tolist()]
    assert sorted(rows) == list(range(len(lengths)))
    assert [lengths[row] for row in rows] == sorted(lengths)
    for part in parts:
        assert 1 <= len(part) <= batch
        mine = [lengths[row] for row in part.tolist()]
        padded = len(mine) * max(mine)
        assert padded <= max(FILLED, (1 + MOST_PADDING) * sum(mine))
