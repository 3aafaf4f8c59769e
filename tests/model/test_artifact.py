"""A model's folder is one artifact: what is exported, uploaded and replaced is all of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import local_hub
import tiny
import toy
from unembed import Inverter
from unembed.cli.model import command
from unembed.encoders import load_encoder
from unembed.encoders.surrogate_encoder import CONFIG as SURROGATE_JSON
from unembed.encoders.surrogate_encoder import load_surrogate
from unembed.errors import DataError, UnavailableError, UnembedError
from unembed.model.checkpoint import Checkpoint, load_checkpoint
from unembed.model.parts import CARD, CONFIG, SURROGATE, WEIGHTS
from unembed.model.trigrams import PHRASES, Phrases

CARD_TEXT = "---\nlicense: cc-by-4.0\n---\n# Measured\n\n| token F1 | 0.83 |\n"


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".cache" not in path.parts
    }


def phrases_of(checkpoint: Checkpoint) -> Phrases:
    texts = [[1, 2, 3], [1, 2, 4], [1, 2, 3]]
    return Phrases.count(texts, checkpoint.vocabulary, min_pairs=1, min_triples=1)


@pytest.fixture
def folder(tmp_path: Path, toy_encoder: toy.ToyEncoder) -> Path:
    """A model in eight bits, with phrases, a surrogate and a card that says what was measured."""
    checkpoint = tiny.checkpoint(toy.wordpiece(), toy_encoder.info, fit_to=toy_encoder.encode(["a", "b c"]))
    checkpoint.stored_as = "int8"
    checkpoint.save(tmp_path / "model")
    load_checkpoint(tmp_path / "model").add_phrases(phrases_of(checkpoint))
    load_checkpoint(tmp_path / "model").add_surrogate(tiny.surrogate(checkpoint))
    (tmp_path / "model" / CARD).write_text(CARD_TEXT, encoding="utf-8")
    return tmp_path / "model"


def run(*arguments: object) -> str:
    return CliRunner().invoke(command, [str(part) for part in arguments], catch_exceptions=False).output


def test_an_export_holds_every_part_as_it_was(folder: Path, tmp_path: Path) -> None:
    run("export", folder, "-o", tmp_path / "out")
    assert files(tmp_path / "out") == files(folder)
    assert {PHRASES, f"{SURROGATE}/surrogate.json", CARD} < files(folder).keys()


def test_an_export_in_another_precision_keeps_the_rest(folder: Path, tmp_path: Path) -> None:
    run("export", folder, "-o", tmp_path / "out", "--dtype", "float16")
    before, after = files(folder), files(tmp_path / "out")
    assert {name for name in before if before[name] != after[name]} == {WEIGHTS, CONFIG}
    assert load_checkpoint(tmp_path / "out").stored_as == "float16"
    run("export", tmp_path / "out", "-o", tmp_path / "again")
    assert files(tmp_path / "again") == after


def test_a_card_is_not_carried_to_a_model_that_answers_otherwise(folder: Path, tmp_path: Path) -> None:
    run("export", folder, "-o", tmp_path / "out", "--repeat-penalty", "0.5")
    before, after = files(folder), files(tmp_path / "out")
    assert {name for name in before if before[name] != after[name]} == {CONFIG, CARD}
    assert b"Measured" not in after[CARD]


def test_what_is_pushed_arrives_and_comes_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "notes.txt").write_text("not a part of the model")
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    with local_hub.running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        told = json.loads(run("push", folder, "somebody/model", "--private", "--json"))
        assert told["address"].startswith(hub.address)
        assert hub.private == {"somebody/model": True}
        arrived = hub.repositories["somebody/model"]
        (folder / "notes.txt").unlink()
        assert arrived == files(folder)
        back = Checkpoint.from_pretrained("somebody/model", cache_dir=tmp_path / "cache")
        assert back.phrases is not None
        assert back.stored_as == "int8"
        assert back.surrogate.info.digest == load_checkpoint(folder).surrogate.info.digest
        assert (back.folder / CARD).read_text(encoding="utf-8") == CARD_TEXT


def test_an_unreachable_hub_is_an_error_with_a_next_step(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_hub.running() as hub:
        address = hub.address
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    with pytest.raises(UnavailableError, match="hf auth login"):
        run("push", folder, "somebody/model")


def test_better_weights_keep_phrases_and_surrogate(folder: Path, toy_encoder: toy.ToyEncoder) -> None:
    """As a better best/ of the same run: the counts and the surrogate are of the data, not of the weights."""
    before = files(folder)
    better = tiny.checkpoint(toy.wordpiece(), toy_encoder.info, seed=1)
    better.save(folder)
    after = files(folder)
    assert after.keys() == before.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {WEIGHTS, CONFIG, CARD}  # the old card's figures are not the new weights'
    assert load_checkpoint(folder).phrases is not None
    assert load_checkpoint(folder).surrogate


def test_parts_of_another_model_are_not_kept(folder: Path) -> None:
    """A folder that held the model of another encoder and vocabulary."""
    other = toy.ToyEncoder(name="other", tokenizer=toy.byte_bpe())
    tiny.checkpoint(other.tokenizer(), other.info).save(folder)
    assert files(folder).keys() == {CONFIG, WEIGHTS, "tokenizer.json", CARD}
    assert load_checkpoint(folder).phrases is None
    with pytest.raises(UnembedError, match="without a surrogate"):
        _ = load_checkpoint(folder).surrogate


def test_a_checkpoint_changed_in_memory_is_saved_as_changed(folder: Path, tmp_path: Path) -> None:
    checkpoint = load_checkpoint(folder)
    checkpoint.denoiser.token.weight.data.mul_(2.0)
    checkpoint.save(tmp_path / "out")
    again = load_checkpoint(tmp_path / "out").denoiser.token.weight
    torch.testing.assert_close(again, checkpoint.denoiser.token.weight)


@pytest.mark.parametrize("name", [PHRASES, f"{SURROGATE}/surrogate.json", f"{SURROGATE}/{WEIGHTS}"])
@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_a_missing_or_altered_part_is_named(folder: Path, tmp_path: Path, name: str, damage: str) -> None:
    path = folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    if damage == "altered":
        path.write_bytes(content)
    checkpoint = load_checkpoint(folder)  # a plain inversion needs neither
    with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
        _ = (checkpoint.phrases, checkpoint.surrogate)
    with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
        checkpoint.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_phrases_that_were_copied_by_hand_are_read(folder: Path, tmp_path: Path) -> None:
    """Folders of earlier versions do not list them."""
    described = json.loads((folder / CONFIG).read_text())
    described["digests"] = {WEIGHTS: described["digests"][WEIGHTS]} | {
        "tokenizer.json": described["digests"]["tokenizer.json"]
    }
    (folder / CONFIG).write_text(json.dumps(described))
    checkpoint = load_checkpoint(folder)
    assert checkpoint.phrases is not None
    assert checkpoint.surrogate
    checkpoint.save(tmp_path / "out")
    assert PHRASES in load_checkpoint(tmp_path / "out").config.digests


def test_a_misspelt_keyword_is_refused(folder: Path) -> None:
    with pytest.raises(TypeError, match="revison"):
        Checkpoint.from_pretrained(folder, revison="main")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="revison"):
        Inverter.from_pretrained(folder, revison="main")  # type: ignore[call-arg]


def test_a_surrogate_is_loaded_by_the_name_that_it_gives(folder: Path) -> None:
    surrogate = load_checkpoint(folder).surrogate
    again = load_encoder(surrogate.info.name, device="cpu")
    assert again.info == surrogate.info
    np.testing.assert_array_equal(again.encode(["the cat"]), surrogate.encode(["the cat"]))
    assert Inverter.from_pretrained(folder).guide("surrogate").info == surrogate.info


def test_a_surrogate_of_an_earlier_version_is_read_and_written_with_the_new_name(
    folder: Path, tmp_path: Path
) -> None:
    """surrogate.json called its encoder `imitates`; it is called `encoder` now."""
    written = folder / SURROGATE / SURROGATE_JSON
    described = json.loads(written.read_text())
    assert "imitates" not in described
    described["imitates"] = described.pop("encoder")
    written.write_text(json.dumps(described))
    surrogate = load_surrogate(folder / SURROGATE, device="cpu")
    assert surrogate.config.encoder == load_checkpoint(folder).config.encoder
    surrogate.save(tmp_path / "again")
    again = json.loads((tmp_path / "again" / SURROGATE_JSON).read_text())
    assert again["encoder"] == described["imitates"]
    assert "imitates" not in again
