"""`unembed.train`: one call from prepared data to a model, from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import unembed
from unembed.errors import UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.training.config import TrainConfig


def test_fields_on_top_of_a_configuration(toy_config: TrainConfig, tmp_path: Path) -> None:
    kinds: list[str] = []
    model = unembed.train(
        toy_config,
        output=tmp_path / "other",
        steps=4,
        watch=lambda kind, progress, figures: kinds.append(kind),
    )
    assert kinds.count("step") == 4
    assert kinds[-1] == "end"
    saved = Checkpoint.from_pretrained(tmp_path / "other" / "latest")
    assert torch.equal(model.denoiser.output_bias, saved.denoiser.output_bias)
    assert model.config.training is not None
    assert model.config.training["step"] == 4


def test_a_file_and_its_errors(toy_config: TrainConfig, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("layers: 1\nhidden: 32\nheads: 2\nffn: 32\ndevice: cpu\nmax_length: 16\nbatch: 16\n")
    model = unembed.train(
        file,
        data=toy_config.data[0],
        output=tmp_path / "run",
        steps=2,
        warmup=0,
        sample_size=2,
        validate_size=4,
    )
    assert model.denoiser.config.block.hidden == 32
    with pytest.raises(UsageError, match="no configuration 'compact-minilmm'"):
        unembed.train("compact-minilmm", data=toy_config.data[0], output=tmp_path / "run")
    with pytest.raises(UsageError, match="data: ") as missing:
        unembed.train("compact-minilm", output=tmp_path / "run")
    assert "Prepared data" in str(missing.value.hint)
    with pytest.raises(UsageError, match="step: "):
        unembed.train(toy_config, step=4)


def test_the_function_stays_a_function_when_its_package_is_imported() -> None:
    code = (
        "import sys, unembed; assert 'torch' not in sys.modules; "
        "import unembed.training.config, unembed.data; "
        "assert callable(unembed.train) and callable(unembed.prepare); "
        "from unembed.training import entry; assert unembed.train is entry.train"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
