"""From a configuration and its data to a model that is ready to learn."""

import json
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import toy
from unembed.data.config import EncodeConfig
from unembed.data.encode import encode
from unembed.errors import MismatchError, UsageError
from unembed.model.backbone import open_backbone
from unembed.training.config import FREE_ON_RESUME, SECTIONS, TrainConfig
from unembed.training.dataset import TrainingTexts, count_tokens, open_corpus
from unembed.training.fresh_model import build
from unembed.training.validate import free_running, spread_indices, validation_bound


def test_the_same_seed_builds_the_same_model(toy_config):
    corpus = open_corpus(toy_config)
    one, two = (build(toy_config, corpus).checkpoint.denoiser.state_dict() for _ in range(2))
    other = build(toy_config.model_copy(update={"seed": 1}), corpus).checkpoint.denoiser.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["token.weight"], other["token.weight"])


def test_vocabulary_statistics_and_frequencies_come_from_the_corpus(toy_config):
    corpus = open_corpus(toy_config)
    checkpoint, counts, _ = build(toy_config, corpus)
    tokens = corpus.train.tokens(np.arange(len(corpus.train)))
    used = np.unique(tokens[tokens >= 0])
    assert checkpoint.vocabulary.token_ids[:-1].tolist() == used.tolist()
    vectors = torch.from_numpy(corpus.train.vectors(np.arange(len(corpus.train))))
    white = checkpoint.denoiser.standardise(vectors)
    assert white.mean(dim=0).abs().max() < 1e-3
    share = counts[3] / len(corpus.train)
    torch.testing.assert_close(
        checkpoint.denoiser.lexical.down.bias[3].detach(), torch.logit(share.clamp(1e-6, 0.99))
    )
    plain = build(toy_config.model_copy(update={"whiten": False}), corpus).checkpoint.denoiser
    assert torch.equal(plain.standardise.whiten, torch.eye(64) * 8.0)


def test_counting_goes_chunk_by_chunk(toy_config, monkeypatch):
    from unembed.training import dataset as module

    texts = open_corpus(toy_config).train
    whole = count_tokens(texts, 500)
    monkeypatch.setattr(module, "COUNT_CHUNK", 100)
    assert count_tokens(texts, 500).tolist() == whole.tolist()
    assert whole.sum() == texts.lengths.sum()


def test_vectors_of_two_encoders_do_not_mix(toy_config, toy_data, tmp_path):
    encoder = toy.ToyEncoder(dimension=64, name="another", tokenizer=toy.wordpiece())
    encode(EncodeConfig(seq_len=16), toy_data.parent / "texts", tmp_path / "other", encoder=encoder)
    with pytest.raises(MismatchError, match="with another encoder"):
        open_corpus(toy_config.model_copy(update={"data": (toy_data, tmp_path / "other")}))


def test_a_min_count_that_leaves_nothing_is_refused(toy_config):
    config = toy_config.model_copy(update={"min_count": 10**9})
    with pytest.raises(UsageError, match="lower --min-count"):
        build(config, open_corpus(config))


def test_a_backbone_with_another_tokenizer_is_refused(toy_config):
    config = toy_config.model_copy(update={"backbone": "minilm"})
    with pytest.raises(UsageError, match="tokenizer is not that of the backbone"):
        build(config, open_corpus(config))


def test_a_backbone_with_the_datas_tokenizer(toy_config, tmp_path):
    """A tiny BERT whose tokenizer is the data's: our rows of its embeddings, its [MASK] for ours."""
    transformers = pytest.importorskip("transformers")
    corpus = open_corpus(toy_config)
    tokenizer = corpus.folders[0].tokenizer()
    bert = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=3,
            num_attention_heads=4, intermediate_size=48, max_position_embeddings=32,
        )
    )  # fmt: skip
    bert.save_pretrained(tmp_path / "bert")
    tokenizer.save(str(tmp_path / "bert" / "tokenizer.json"))
    config = toy_config.model_copy(update={"backbone": str(tmp_path / "bert"), "backbone_layers": (0, 2)})
    checkpoint = build(config, corpus).checkpoint
    rows = bert.embeddings.word_embeddings.weight.detach()
    ids = checkpoint.vocabulary.token_ids
    assert torch.equal(
        checkpoint.denoiser.token.weight[:-2].detach(), rows[torch.from_numpy(ids[:-1]).long()]
    )
    assert torch.equal(checkpoint.denoiser.token.weight[-1].detach(), rows[tokenizer.token_to_id("[MASK]")])
    assert len(checkpoint.denoiser.blocks) == 2
    assert checkpoint.denoiser.config.block.dropout == config.dropout
    everything = build(config.model_copy(update={"backbone_layers": ()}), corpus).checkpoint.denoiser
    assert len(everything.blocks) == 3

    # One that knows fewer tokens than the data has.
    smaller = shutil.copytree(tmp_path / "bert", tmp_path / "smaller")
    (smaller / "tokenizer.json").unlink()
    described = json.loads((smaller / "config.json").read_text()) | {"vocab_size": 50}
    (smaller / "config.json").write_text(json.dumps(described))
    assert open_backbone(str(smaller)).config["vocab_size"] == 50
    with pytest.raises(UsageError, match="more tokens than the backbone"):
        build(config.model_copy(update={"backbone": str(smaller)}), corpus)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_tokens": 40}, "exceeds max_length"),
        ({"min_tokens": 9, "max_tokens": 4}, "no text would be left"),
        ({"groups": 500}, "groups cannot exceed the batch"),
        ({"nonsense": 1}, "nonsense"),
        ({"noise": "cosine"}, "linear"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        TrainConfig(data=("x",), output="y", **change)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=5))
def test_lists_may_be_written_with_commas(numbers):
    text = ",".join(map(str, numbers))
    for value in (numbers, tuple(numbers), text, [text], tuple(map(str, numbers))):
        assert TrainConfig(data="a,b", output="y", milestones=value).milestones == tuple(numbers)
    assert [str(path) for path in TrainConfig(data="a,b", output="y").data] == ["a,b"]


def test_every_field_is_documented_and_every_named_field_exists():
    fields = TrainConfig.model_fields
    assert all(field.description for field in fields.values())
    assert fields.keys() >= FREE_ON_RESUME
    assert fields.keys() >= SECTIONS.keys()
    assert next(iter(fields)) in SECTIONS


def test_validation_is_the_same_every_time_and_knows_a_worse_model(toy_config):
    corpus = open_corpus(toy_config)
    checkpoint = build(toy_config, corpus).checkpoint
    denoiser = checkpoint.denoiser.eval()
    arguments = {"size": 40, "noise": "linear"}
    bound = validation_bound(denoiser, checkpoint, corpus.validation, **arguments)
    assert validation_bound(denoiser, checkpoint, corpus.validation, **arguments) == bound
    with torch.no_grad():
        denoiser.output_bias.normal_(std=10.0)
    assert validation_bound(denoiser, checkpoint, corpus.validation, **arguments) > bound + 1


def test_free_running_counts_what_came_back(toy_config, monkeypatch):
    """The figures, against texts decoded by hand: one right, one wrong, one too short."""
    from unembed.training import validate

    corpus = open_corpus(toy_config)
    checkpoint = build(toy_config, corpus).checkpoint
    texts = TrainingTexts([corpus.folders[0].split("validation")], min_tokens=6, max_tokens=6)
    chosen = spread_indices(texts, 3)
    truth = checkpoint.vocabulary.encode(texts.tokens(chosen))
    guess = torch.from_numpy(truth.copy())
    guess[1] = guess[1].flip(0)  # the same words, all in the wrong place
    guess[2, 3:] = -1  # half of it

    class Decoded:
        tokens = guess

    monkeypatch.setattr(validate, "decode_all", lambda *a, **k: Decoded)
    sample = free_running(checkpoint.denoiser, checkpoint, texts, size=3, show=2)
    same = int((guess[1].numpy() == truth[1]).sum())
    assert sample.accuracy == pytest.approx((6 + same + 3) / 18)
    assert sample.f1 == pytest.approx((1 + 1 + 2 * 3 / 9) / 3)
    assert sample.exact == pytest.approx(1 / 3)
    assert sample.n == 3
    assert sample.examples[0] == tuple(texts.texts(chosen[:1]) * 2)
    assert len(sample.examples) == 2
