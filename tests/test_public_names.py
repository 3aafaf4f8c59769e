"""`import unembed` is light, and every public name is there when it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import unembed

NAMES = {
    "Inverter": "unembed.inverter",
    "InvertConfig": "unembed.invert_config",
    "Inversion": "unembed.decode.result",
    "prepare": "unembed.data.pipeline",
    "train": "unembed.training.entry",
    "adapt": "unembed.adaptation.fit_adapter",
    "evaluate": "unembed.evaluation",
    "load_encoder": "unembed.encoders",
    "UnembedError": "unembed.errors",
}


def test_every_public_name_is_the_one_of_its_module() -> None:
    assert set(unembed.__all__) == {*NAMES, "__version__"} == set(dir(unembed))
    for name, module in NAMES.items():
        assert getattr(unembed, name) is getattr(importlib.import_module(module), name)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="invrter"):
        unembed.invrter  # noqa: B018


def test_importing_the_package_and_its_light_names_loads_no_torch() -> None:
    code = (
        "import sys, unembed; unembed.__version__; unembed.UnembedError; unembed.InvertConfig(); "
        "heavy = {'torch', 'transformers', 'numpy', 'rich', 'click'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
