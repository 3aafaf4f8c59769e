"""Which variants a configuration asks for, and how lengths fall into ranges."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from unembed.decode.registry import DECODERS
from unembed.errors import UsageError
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.tables import bins
from unembed.evaluation.targets import expand_checkpoints, parse_models
from unembed.evaluation.variants import make_plan
from unembed.storage import write_json


def test_the_base_and_its_floors() -> None:
    plan = make_plan(EvaluateConfig(), base=0)
    assert [variant.kind for variant in plan.variants] == ["model", "random", "shuffled", "nearest"]


def test_a_variant_is_measured_once() -> None:
    config = EvaluateConfig(strategies=("all",), noise=(0.0, 0.1), remask=(0.0, 0.05), denoising=(0.1, 0.9))
    plan = make_plan(config, base=0, checkpoints=[1, 0], models=[0, 2])
    names = [variant.name for variant in plan.variants]
    assert len(names) == len(set(names))
    assert plan.noise[0] == plan.base  # no noise is the base itself
    assert plan.checkpoints[1] == plan.base
    assert len(plan.strategies) == len(DECODERS)
    assert [variant.target for variant in plan.variants] == sorted(
        variant.target for variant in plan.variants
    )


def test_one_search_gives_the_whole_curve() -> None:
    plan = make_plan(EvaluateConfig(strategy="guided", encoder_calls=(50, 0, 10)), base=0)
    assert [variant.calls for variant in plan.calls] == [0, 10, 50]
    assert plan.base == plan.calls[-1]
    assert plan.read_off(plan.base) == plan.calls
    assert plan.guided
    assert plan.base.dump()["calls"] == 50
    plain = make_plan(EvaluateConfig(strategies=("all",)), base=0)
    assert not plain.guided
    assert plain.read_off(plain.base) == (plain.base,)
    assert "calls" not in plain.base.dump()


def test_every_compared_model_has_floors_of_its_own() -> None:
    plan = make_plan(EvaluateConfig(), base=0, checkpoints=[1], models=[0, 2])
    assert {variant.target for variant in plan.floors} == {0, 2}
    assert {variant.target for variant in plan.floors_of(2)} == {2}
    assert {variant.target for variant in plan.floors_of(1)} == {0}


def test_perplexity_brings_the_originals() -> None:
    assert "original" in {
        variant.kind for variant in make_plan(EvaluateConfig(perplexity="x"), base=0).variants
    }
    assert EvaluateConfig(metrics=("perplexity",)).language_model == "gpt2"
    assert "perplexity" not in EvaluateConfig().measured


@pytest.mark.parametrize(
    "wrong",
    [
        {"remask": (1.5,)},
        {"noise": (-0.1,)},
        {"denoising": (2.0,)},
        {"samples": 0},
        {"split": "dev"},
        {"encoder_calls": (-1,)},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EvaluateConfig.model_validate(wrong)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="no decoding strategy"):
        EvaluateConfig(strategies=("confidense",))
    with pytest.raises(UsageError, match="no metric"):
        EvaluateConfig(metrics=("blue",))


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_every_length_falls_into_one_range(lengths: list[int]) -> None:
    ranges = bins(lengths)
    assert len(ranges) <= 10
    for length in lengths:
        assert sum(low <= length <= high for low, high in ranges) == 1
    assert all(any(low <= length <= high for length in lengths) for low, high in ranges)


def test_models_with_their_data() -> None:
    assert parse_models("a=x, b", Path("d")) == [("a", Path("x")), ("b", Path("d"))]
    assert parse_models(None, None) == []
    with pytest.raises(UsageError, match="no data for the model a"):
        parse_models("a", None)


def test_a_folder_of_milestones_is_put_in_order(tmp_path: Path) -> None:
    for name, step in (("step-10", 10), ("step-9", 9), ("step-100", 100)):
        write_json(tmp_path / name / "config.json", {"training": {"step": step}})
    names = [Path(folder).name for folder in expand_checkpoints(str(tmp_path))]
    assert names == ["step-9", "step-10", "step-100"]
    assert expand_checkpoints(f"{tmp_path}/step-9,elsewhere") == [f"{tmp_path}/step-9", "elsewhere"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no model"):
        expand_checkpoints(str(tmp_path / "empty"))
