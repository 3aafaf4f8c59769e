import pytest
import yaml
from click.testing import CliRunner

import tiny
import toy
from unembed.cli.model import command
from unembed.model.checkpoint import load_checkpoint
from unembed.model.parts import CARD


def test_the_card_says_whose_vectors_and_what_it_cannot_do(tmp_path, toy_encoder):
    checkpoint = tiny.checkpoint(toy.wordpiece(), toy_encoder.info)
    training = {
        "step": 12,
        "samples": 3400,
        "texts": 56,
        "seconds": 78.0,
        "config": {"min_tokens": 4, "max_tokens": 9},
    }
    checkpoint.config = checkpoint.config.model_copy(update={"training": training})
    checkpoint.save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / CARD).read_text(encoding="utf-8")
    assert "An inverter for toy" in card
    assert "12 steps, 3,400 samples of 56 texts of 4 to 9 tokens, 1 minutes" in card
    assert "What it cannot do" in card
    assert "More Information Needed" not in card


def test_a_card_that_somebody_wrote_is_kept(tmp_path, toy_encoder):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / CARD).write_text("mine", encoding="utf-8")
    tiny.checkpoint(toy.wordpiece(), toy_encoder.info).save_pretrained(folder)
    assert (folder / CARD).read_text(encoding="utf-8") == "mine"


def test_what_is_not_recorded_is_not_made_up(tmp_path, toy_encoder):
    checkpoint = tiny.checkpoint(toy.wordpiece(), toy_encoder.info)
    checkpoint.config = checkpoint.config.model_copy(update={"training": {"step": 12}})
    checkpoint.save_pretrained(tmp_path / "model")
    assert "| trained | not recorded |" in (tmp_path / "model" / CARD).read_text(encoding="utf-8")


@pytest.mark.parametrize(("licence", "front"), [(None, "unknown"), ("cc-by-4.0", '"cc-by-4.0"')])
def test_the_licence_is_what_somebody_named_and_not_ours(tmp_path, licence, front):
    encoder = toy.ToyEncoder()
    info = encoder.info.model_copy(update={"licence": "CC-BY-NC-4.0"})
    checkpoint = tiny.checkpoint(toy.wordpiece(), info)
    checkpoint.config = checkpoint.config.model_copy(update={"licence": licence})
    checkpoint.save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / CARD).read_text(encoding="utf-8")
    assert f"\nlicense: {front}\n" in card
    assert "of its encoder: CC-BY-NC-4.0 |" in card
    assert "apache" not in card.lower()


def test_the_card_command_names_the_licence_for_good(tmp_path, toy_encoder):
    folder = tmp_path / "model"
    tiny.checkpoint(toy.wordpiece(), toy_encoder.info).save(folder)
    typed = ["card", str(folder), "--licence", 'CC BY-SA 4.0: see "NOTICE"']
    assert CliRunner().invoke(command, typed, catch_exceptions=False).exit_code == 0
    front = (folder / CARD).read_text(encoding="utf-8").split("---")[1]
    assert yaml.safe_load(front)["license"] == 'CC BY-SA 4.0: see "NOTICE"'
    assert load_checkpoint(folder).config.licence == 'CC BY-SA 4.0: see "NOTICE"'
    assert CliRunner().invoke(command, ["export", str(folder), "-o", str(tmp_path / "out")]).exit_code == 0
    assert (tmp_path / "out" / CARD).read_bytes() == (folder / CARD).read_bytes()
