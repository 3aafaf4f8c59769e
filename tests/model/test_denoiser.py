import pytest
import torch

from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.fast.candidate_softmax import Candidates, CandidateWeights

FAMILIES = ["paper", "bert", "modernbert"]


def candidates_of(denoiser, *entries):
    entries = torch.unique(torch.cat([part.flatten() for part in entries]))
    column = torch.zeros(denoiser.config.vocabulary + 1, dtype=torch.long)
    column[entries] = torch.arange(len(entries))
    column[-1] = len(entries)
    return entries, CandidateWeights.gather(denoiser, Candidates(entries, column))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("memory", [0, 4])
def test_the_last_block_gives_the_same_where_it_is_asked(make, batch_for, family, memory):
    denoiser = make(family, memory=memory)
    batch = batch_for(denoiser)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    everywhere = denoiser.hidden(batch.xt, batch.t, prepared)  # [B, L, D]
    few = denoiser.hidden(batch.xt, batch.t, prepared, at=batch.at)  # [M, D]
    torch.testing.assert_close(few, everywhere[batch.masked], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_is_not_looked_at(make, batch_for, family):
    """A sequence gives the same alone as beside a longer one, whatever stands in its padding."""
    denoiser = make(family)
    batch = batch_for(denoiser, length=5)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    alone = denoiser.hidden(batch.xt, batch.t, prepared)
    grown = torch.cat([batch.xt, torch.full((6, 3), 17)], dim=1)
    padding = torch.arange(8).expand(6, 8) >= 5
    beside = denoiser.hidden(grown, batch.t, prepared, padding)
    torch.testing.assert_close(beside[:, :5], alone, atol=1e-5, rtol=1e-5)
    at = (~padding).flatten().nonzero().squeeze(1)
    few = denoiser.hidden(grown, batch.t, prepared, padding, at=at)
    torch.testing.assert_close(few.view_as(alone), alone, atol=1e-5, rtol=1e-5)


def test_logits_where_asked_are_those_of_all_positions(make, batch_for):
    denoiser = make()
    batch = batch_for(denoiser)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    h = denoiser.hidden(batch.xt, batch.t, prepared)  # [B, L, D]
    every_row = torch.arange(6).repeat_interleave(7)
    everywhere = denoiser.logits(h.flatten(0, 1), every_row, prepared, xt=batch.xt)  # [B * L, V]
    asked = denoiser.logits(h[batch.masked], batch.rows, prepared, xt=batch.xt)
    assert asked.shape == (len(batch.at), denoiser.config.vocabulary)
    torch.testing.assert_close(asked, everywhere[batch.at])


@pytest.mark.parametrize("dropping", [False, True])
def test_candidates_logits_are_columns_of_the_full_ones(make, batch_for, dropping):
    """With every memory word among the candidates, nothing else may change."""
    denoiser = make()
    batch = batch_for(denoiser)
    dropped = torch.arange(6) % 2 == 0 if dropping else None
    prepared = denoiser.prepare(batch.vectors, batch.lengths, dropped=dropped)
    words = prepared.lexical.topk(denoiser.config.memory, dim=1).indices
    entries, weights = candidates_of(denoiser, batch.x0, words)
    assert len(entries) < denoiser.config.vocabulary
    full = denoiser.logits(
        denoiser.hidden(batch.xt, batch.t, prepared, at=batch.at), batch.rows, prepared, xt=batch.xt
    )
    few = denoiser.prepare(batch.vectors, batch.lengths, candidates=weights, dropped=dropped)
    h = denoiser.hidden(batch.xt, batch.t, few, at=batch.at, embedded=weights.embed(batch.xt))
    logits = weights.readout(denoiser.features(h)) + denoiser.words(few, batch.xt, weights)[batch.rows]
    torch.testing.assert_close(logits, full[:, entries], atol=1e-5, rtol=1e-5)


def test_candidates_gradients_are_those_of_the_full_matrices(make, batch_for):
    """The gathered weights lead back to the model's own: the same columns, the same gradients."""
    denoiser = make()
    batch = batch_for(denoiser)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    words = prepared.lexical.topk(denoiser.config.memory, dim=1).indices
    entries, weights = candidates_of(denoiser, batch.x0, words)

    h = denoiser.hidden(batch.xt, batch.t, prepared, at=batch.at)
    denoiser.logits(h, batch.rows, prepared, xt=batch.xt)[:, entries].square().sum().backward()
    expected = {name: p.grad.clone() for name, p in denoiser.named_parameters() if p.grad is not None}
    denoiser.zero_grad()

    few = denoiser.prepare(batch.vectors, batch.lengths, candidates=weights)
    h = denoiser.hidden(batch.xt, batch.t, few, at=batch.at, embedded=weights.embed(batch.xt))
    logits = weights.readout(denoiser.features(h)) + denoiser.words(few, batch.xt, weights)[batch.rows]
    logits.square().sum().backward()
    found = {name: p.grad for name, p in denoiser.named_parameters() if p.grad is not None}
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=2e-3, rtol=1e-3, msg=name)


def test_selecting_and_splitting_what_was_prepared_is_preparing_a_selection(make, batch_for):
    denoiser = make()
    batch = batch_for(denoiser)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    rows = torch.tensor([4, 0, 0, 5])
    parts = prepared.split([1, 3, 2])
    for mine, chosen in (
        (prepared.select(rows), rows),
        (parts[0], torch.tensor([0])),
        (parts[1], torch.tensor([1, 2, 3])),
        (parts[2], torch.tensor([4, 5])),
    ):
        again = denoiser.prepare(batch.vectors[chosen], batch.lengths[chosen])
        torch.testing.assert_close(mine.modulation, again.modulation)
        torch.testing.assert_close(mine.lexical, again.lexical)
        torch.testing.assert_close(mine.memory, again.memory)
        assert torch.equal(mine.lengths, again.lengths)


def test_selecting_without_heads(make, batch_for):
    denoiser = make(lexical_hidden=0, memory=0)
    batch = batch_for(denoiser)
    prepared = denoiser.prepare(batch.vectors, batch.lengths)
    assert prepared.select(torch.tensor([1])).lexical is None
    assert [part.memory for part in prepared.split([2, 4])] == [None, None]


def test_a_dropped_sample_does_not_depend_on_its_vector(make, batch_for):
    denoiser = make()
    batch = batch_for(denoiser)
    dropped = torch.arange(6) < 3

    def logits(vectors):
        prepared = denoiser.prepare(vectors, batch.lengths, dropped=dropped)
        h = denoiser.hidden(batch.xt, batch.t, prepared)
        return denoiser.logits(h[:, 0], torch.arange(6), prepared, xt=batch.xt)

    one, other = logits(batch.vectors), logits(batch.vectors.flip(1) + 1)
    assert torch.equal(one[:3], other[:3])
    assert ((one[3:] - other[3:]).abs().amax(dim=1) > 1e-3).all()


def test_time_and_length_reach_the_blocks(make, batch_for):
    denoiser = make()
    batch = batch_for(denoiser)

    def hidden(t, lengths):
        return denoiser.hidden(batch.xt, t, denoiser.prepare(batch.vectors, lengths))

    base = hidden(batch.t, batch.lengths)
    assert (hidden(1 - batch.t, batch.lengths) - base).abs().max() > 1e-3
    assert (hidden(batch.t, batch.lengths + 1) - base).abs().max() > 1e-3
    blind = make(time_input=False)
    prepared = blind.prepare(batch.vectors, batch.lengths)
    assert torch.equal(
        blind.hidden(batch.xt, batch.t, prepared), blind.hidden(batch.xt, 1 - batch.t, prepared)
    )


def test_the_paper_preset_has_78_million_parameters_outside_the_vocabulary():
    with torch.device("meta"):
        denoiser = Denoiser(
            DenoiserConfig(vector_dim=1024, vocabulary=50_257, max_length=32, layers=8, block=BlockConfig())
        )
    vocabulary = denoiser.token.weight.numel() + denoiser.output_bias.numel()
    outside = sum(p.numel() for p in denoiser.parameters()) - vocabulary
    assert 77.5e6 < outside < 79.5e6


def test_only_a_model_of_given_lengths_guesses_them(make, batch_for):
    denoiser = make()
    vectors = batch_for(denoiser).vectors
    assert denoiser.length_logits(vectors).shape == (6, 13)
    with pytest.raises(TypeError, match="fixed length"):
        make(length="fixed").length_logits(vectors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"memory": 4, "lexical_hidden": 0}, "memory takes its words"),
        ({"layers": 3, "block": BlockConfig(rotary=(1e4,))}, "one base per layer"),
    ],
)
def test_a_configuration_that_cannot_be_built_says_why(change, message):
    with pytest.raises(ValueError, match=message):
        DenoiserConfig(**({"vector_dim": 4, "vocabulary": 9} | change))
    with pytest.raises(ValueError, match="multiple of heads"):
        BlockConfig(hidden=10, heads=3)
