import tiny
import toy
from unembed.model.checkpoint import CARD


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
