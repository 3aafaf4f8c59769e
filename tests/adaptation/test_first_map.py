"""An adapter without pairs: what a guided search makes of it, and what everything else says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rotated import DIM, Rotated

import tiny
import toy
import unembed
from unembed.adaptation.fit_adapter import adapt, estimate
from unembed.errors import MismatchError, UsageError
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.checkpoint import Checkpoint

FIRST = 50
SEARCH = {"strategy": "guided", "first_texts": FIRST}


@pytest.fixture
def native() -> toy.ToyEncoder:
    return toy.ToyEncoder(dimension=DIM)


@pytest.fixture
def base(tmp_path, native):
    model = tiny.checkpoint(toy.wordpiece(), native.info, fit_to=native.encode(toy.sentences(200)))
    return tiny.save(model, tmp_path / "base")


@pytest.fixture
def folder(tmp_path, base, native):
    encoder = Rotated()
    adapt(encoder, tmp_path / "b0", pairs=0, base=base, base_encoder=native)
    assert encoder.seen == 0
    return tmp_path / "b0"


@pytest.fixture
def encoder() -> Rotated:
    return Rotated()


@pytest.fixture
def inverter(folder, encoder, native) -> unembed.Inverter:
    return unembed.Inverter(Checkpoint.from_pretrained(folder), encoder=encoder, base_encoder=native)


def vectors(count: int) -> np.ndarray:
    return Rotated().encode(toy.sentences(count, seed=9))


def test_the_folder_has_no_map_and_says_so(folder):
    model = Checkpoint.from_pretrained(folder)
    assert isinstance(model, AdaptedCheckpoint)
    assert not model.has_map
    assert not model.has_surrogate
    assert model.adapter.fit == {"pairs": 0}
    assert not model.denoiser.read(torch.from_numpy(vectors(2))).any()
    card = (folder / "README.md").read_text()
    assert "not fitted yet" in card
    assert 'strategy="guided"' in card
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "adapter.json",
        "adapter.safetensors",
    ]


def test_a_search_embeds_the_first_texts_once_for_all_vectors_and_counts_them_for_each(inverter, encoder):
    found = inverter.invert(vectors(3), **SEARCH, max_encoder_calls=80, batch_size=2)
    assert all(FIRST < one.encoder_calls <= 80 for one in found)
    own = sum(one.encoder_calls - FIRST for one in found)
    assert encoder.seen == FIRST + own
    assert all(one.text and one.ranked_by == "encoder" for one in found)


def test_a_vectors_text_does_not_depend_on_its_neighbours(inverter):
    some = vectors(3)
    inverter.checkpoint.base.denoiser.double()
    together = inverter.invert(some, **SEARCH, max_encoder_calls=80)
    alone = inverter.invert(some[1], **SEARCH, max_encoder_calls=80)
    assert (together[1].text, together[1].encoder_calls) == (alone.text, alone.encoder_calls)


def test_what_it_had_after_fewer_calls_counts_the_first_texts_too(inverter):
    [found] = inverter.invert(vectors(1), **SEARCH, max_encoder_calls=90, report_at=(60,))
    [then] = found.at_calls
    assert then.calls == 60
    assert all(one.calls > FIRST for one in found.advances)
    less = inverter.invert(vectors(1)[0], **SEARCH, max_encoder_calls=60)
    assert (then.text, then.cosine) == (less.text, less.cosine)


@pytest.mark.parametrize("how", [{}, {"strategy": "euler"}, {"strategy": "guided", "encoder": "surrogate"}])
def test_without_calls_of_the_encoder_it_reads_nothing(inverter, encoder, how):
    with pytest.raises(UsageError, match="without pairs") as raised:
        inverter.invert(vectors(1), **how)
    assert "--strategy guided" in str(raised.value.hint)
    assert encoder.seen == 0


@pytest.mark.parametrize(
    "how", [{"max_encoder_calls": FIRST}, {"max_encoder_calls": 80, "report_at": (20, 60)}]
)
def test_a_budget_that_leaves_nothing_to_search_with_is_refused_before_a_call(inverter, encoder, how):
    with pytest.raises(UsageError, match="too few") as raised:
        inverter.invert(vectors(1), **SEARCH, **how)
    assert "first_texts" in str(raised.value.hint)
    assert encoder.seen == 0


def test_another_encoder_cannot_give_it_a_map(inverter):
    other = Rotated()
    other.info = other.info.model_copy(update={"name": "other", "digest": "o" * 64})
    with pytest.raises(MismatchError, match="'other' is not the encoder"):
        inverter.invert(vectors(1), **SEARCH, max_encoder_calls=80, encoder=other)


def test_another_version_of_the_base_is_refused(folder, base, native):
    tiny.save(tiny.checkpoint(toy.wordpiece(), native.info, seed=5), base)
    with pytest.raises(MismatchError, match="another version of its base"):
        Checkpoint.from_pretrained(folder)


@pytest.mark.parametrize("more", [{"texts": "some.txt"}, {"pairs_from": "some.parquet"}, {"minutes": 1.0}])
def test_what_only_pairs_need_is_refused_without_them(base, native, tmp_path, more):
    with pytest.raises(UsageError, match="nothing to fit"):
        adapt(Rotated(), tmp_path / "b0", pairs=0, base=base, base_encoder=native, **more)


def test_a_dry_run_embeds_nothing():
    assert estimate(None, 0) == {"texts": 0, "tokens": 0}


def test_it_is_fitted_later_in_the_same_folder(folder, base, native):
    model = adapt(Rotated(), folder, pairs=60, base=base, base_encoder=native)
    assert model.has_map
    assert "fitted on 60 texts" in (folder / "README.md").read_text()
