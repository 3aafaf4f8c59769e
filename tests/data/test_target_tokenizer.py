from pathlib import Path

import pytest

import local_hub
from toy import ToyEncoder, byte_bpe
from unembed.data.target_tokenizer import choose_tokenizer, pad_id, plain_copy, vocabulary_size
from unembed.errors import DataError, UnavailableError, UsageError


def test_the_encoders_own_without_its_truncation(toy_encoder: ToyEncoder) -> None:
    own = plain_copy(toy_encoder.tokenizer())
    own.enable_truncation(2)
    own.enable_padding(length=9)
    chosen = choose_tokenizer("encoder", ToyEncoder(tokenizer=own))
    assert len(chosen.encode("the cat sees the dog", add_special_tokens=False).ids) == 5
    assert own.truncation is not None


def test_a_file_and_its_folder(tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    byte_bpe().save(str(tmp_path / "tokenizer.json"))
    for name in (str(tmp_path), str(tmp_path / "tokenizer.json")):
        assert choose_tokenizer(name, toy_encoder).to_str() == byte_bpe().to_str()


def test_wrong_names(tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    with pytest.raises(UsageError, match="no tokenizer at"):
        choose_tokenizer(str(tmp_path / "missing.json"), toy_encoder)
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer"):
        choose_tokenizer(str(tmp_path / "broken.json"), toy_encoder)
    with pytest.raises(UsageError, match="neither a tokenizer file nor a hub id"):
        choose_tokenizer("a/b/c/d", toy_encoder)


def test_a_hub_that_does_not_answer(
    tmp_path: Path, toy_encoder: ToyEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with local_hub.running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
    with pytest.raises(UnavailableError, match="hub cannot be reached") as error:
        choose_tokenizer("gpt2", toy_encoder)
    assert "--tokenizer path/to/tokenizer.json" in str(error.value.hint)


def test_a_hub_id_is_downloaded(
    tmp_path: Path, toy_encoder: ToyEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with local_hub.running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        hub.repositories["somebody/gpt2"] = {"tokenizer.json": byte_bpe().to_str().encode()}
        chosen = choose_tokenizer("somebody/gpt2", toy_encoder)
    assert vocabulary_size(chosen) == 500
    assert pad_id(chosen) == 0


def test_numbers(toy_encoder: ToyEncoder) -> None:
    tokenizer = toy_encoder.tokenizer()
    assert vocabulary_size(tokenizer) == max(tokenizer.get_vocab().values()) + 1
    assert pad_id(tokenizer) == tokenizer.token_to_id("[PAD]")
