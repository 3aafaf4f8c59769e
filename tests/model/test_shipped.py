"""Adapters that come with the package, found by their encoder's name: on toys, and what ships."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unembed.errors import DataError, UsageError
from unembed.inverter import Inverter
from unembed.model import shipped
from unembed.model.adapter import ADAPTER, AdapterConfig
from unembed.model.bundled import BUNDLED
from unembed.model.checkpoint import Checkpoint
from unembed.model.shipped import SHIPPED, shipped_adapters, shipped_folder, shipped_for
from unembed.vectors.plausibility import check_dimension

BASE = json.loads((BUNDLED / "config.json").read_text(encoding="utf-8"))["digests"]["model.safetensors"]


def described(name: str, dimension: int, digest: str = BASE) -> dict:
    rate = {"value": 0.5, "low": 0.4, "high": 0.6}
    return {
        "base": {"name": "bundled", "digest": digest},
        "encoder": {
            "name": name, "dimension": dimension, "pooling": "mean", "max_tokens": None, "licence": "MIT",
            "normalised": True, "source": "nowhere", "digest": "e" * 64,
        },
        "vector_norm": [1.0, 0.0],
        "measured": [
            {"texts": "mail", "n": 100, "token_f1": rate, "exact_match": rate},
            {"texts": "news", "n": 50, "token_f1": rate | {"value": 0.3}, "exact_match": rate},
        ],
    }  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder, content in {
        "wide": described("wide", 768),
        "prompted": described("prompted#passage", 384),
        "old": described("old", 768, digest="0" * 64),
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ADAPTER).write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setattr(shipped.shipped_adapters, "__defaults__", (tmp_path, BUNDLED))
    return tmp_path


def test_they_are_found_by_name_and_by_dimension(home: Path) -> None:
    found = shipped_adapters()
    assert list(found) == ["prompted", "wide"]  # the old one is for another version of the bundled model
    assert found["wide"].token_f1 == pytest.approx(0.4)
    assert found["wide"].samples == 150
    assert shipped_folder("wide") == home / "wide"
    assert shipped_folder("prompted") == shipped_folder("prompted#passage") == home / "prompted"
    assert shipped_folder("old") is None
    assert shipped_for(768) == ["wide"]
    assert shipped_folder("minilm") == BUNDLED
    assert shipped_folder("somebody/model") is None
    with pytest.raises(UsageError, match="No inverter for the encoder 'jina-v3'") as caught:
        shipped_folder("jina-v3")
    assert "unembed adapt --encoder jina-v3" in str(caught.value.hint)


def test_vectors_of_another_dimension_are_told_which_model_fits(home: Path) -> None:
    with pytest.raises(DataError, match="768 dimensions") as caught:
        check_dimension(np.zeros((1, 768), dtype=np.float32), 384)
    assert "--model wide" in str(caught.value.hint)
    with pytest.raises(DataError, match="5 dimensions") as caught:
        check_dimension(np.zeros((1, 5), dtype=np.float32), 384)
    assert "--model" not in str(caught.value.hint)


def test_a_folder_of_that_name_wins(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "wide").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(Exception, match="not a model's folder"):
        Checkpoint.from_pretrained("wide")


def test_nothing_ships_without_a_bundled_model(home: Path, tmp_path: Path) -> None:
    assert shipped_adapters(home, tmp_path / "nothing") == {}
    assert shipped_adapters(tmp_path / "nothing") == {}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in SHIPPED.glob("*/adapter.json")))
def test_what_ships_is_whole_and_measured(name: str) -> None:
    config = AdapterConfig.model_validate_json((SHIPPED / name / ADAPTER).read_text(encoding="utf-8"))
    assert config.encoder.name.partition("#")[0] == name
    assert config.licence
    assert config.measured
    assert all(0.0 <= one.token_f1.low <= one.token_f1.value <= one.token_f1.high for one in config.measured)
    if name not in shipped_adapters():
        pytest.skip("of another version of the bundled model: run recipes/adapters/ship.py")
    inverter = Inverter.from_pretrained(name)
    assert inverter.dimension == config.encoder.dimension
    assert inverter.has_surrogate == inverter.checkpoint.base.has_surrogate
    rng = np.random.default_rng(0)
    vector = rng.normal(size=inverter.dimension).astype(np.float32)
    assert inverter.invert(vector / np.linalg.norm(vector), check=False).text
