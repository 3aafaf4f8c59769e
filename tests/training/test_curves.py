import json

import pytest

from unembed.errors import UsageError
from unembed.training.curves import draw_curves
from unembed.training.log import LOG


def write_log(folder, lines):
    (folder / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))


LINES = [
    {"kind": "start", "step": 0},
    *({"kind": "train", "step": step, "denoising": 5 / step, "loss": 6 / step} for step in range(1, 40)),
    *({"kind": "validation", "step": step, "bound": 4 / step} for step in (10, 20, 30)),
    *(
        {"kind": "sample", "step": step, "accuracy": step / 60, "f1": step / 50, "exact": step / 90, "n": 128}
        for step in (10, 20, 30)
    ),
]


def test_curves_are_drawn_from_the_log_alone(tmp_path):
    write_log(tmp_path, LINES)
    png, svg = draw_curves(tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    for label in (
        "training loss",
        "validation bound",
        "token accuracy",
        "exact match",
        "token F1",
        "n = 128",
    ):
        assert label in text
    before = svg.read_bytes()
    draw_curves(tmp_path)
    assert svg.read_bytes() == before  # the same log, the same file


def test_a_run_that_has_only_begun_is_drawn_too(tmp_path):
    write_log(tmp_path, LINES[:3])
    assert len(draw_curves(tmp_path)) == 2


def test_a_run_of_the_heads_alone_has_no_denoising_loss(tmp_path):
    write_log(tmp_path, [{"kind": "train", "step": 1, "lexical": 3.0, "loss": 4.0}, LINES[-1]])
    _, svg = draw_curves(tmp_path)
    assert "training loss" not in svg.read_text()


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        draw_curves(tmp_path)
    write_log(tmp_path, LINES[:1])
    with pytest.raises(UsageError, match="nothing to draw"):
        draw_curves(tmp_path)
