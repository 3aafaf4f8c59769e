"""The recipes of the repository: their settings are a training's, their script is a shell's."""

import subprocess
from pathlib import Path

import pytest

from unembed.config_file import settings_from
from unembed.training.config import TrainConfig
from unembed.training.presets import find_config

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*/*.yaml")), ids=lambda file: file.stem)
def test_settings_are_those_of_a_training(file):
    config = settings_from(TrainConfig, find_config(str(file)), {"data": "data", "output": "run"})
    assert config.lexical_hidden, "a setting of the file must arrive"


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*/*.sh")), ids=lambda file: file.parent.name)
def test_a_script_parses_and_names_files_that_exist(file):
    subprocess.run(["bash", "-n", file], check=True)
    named = [word.strip('"').removeprefix("$here/") for word in file.read_text().split() if "$here/" in word]
    assert named
    assert all((file.parent / name).exists() for name in named)
