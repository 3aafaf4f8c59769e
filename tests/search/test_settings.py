"""The settings of a guided search: their bounds, their old names, and errors of one line."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from unembed.decode.strategy_options import check_options
from unembed.errors import UsageError
from unembed.search.settings import GuidedSettings
from unembed.strategies import STRATEGIES, make_strategy


def check(**options: object) -> GuidedSettings:
    return check_options("guided", GuidedSettings, options)


@pytest.mark.parametrize(("old", "new"), GuidedSettings.OLD_NAMES.items())
def test_old_names_are_still_read(old: str, new: str) -> None:
    assert check(**{old: 1}) == check(**{new: 1}) == GuidedSettings(**{new: 1}) != GuidedSettings()
    assert make_strategy("guided", {old: "1"}) == make_strategy("guided", {new: 1})
    assert old not in STRATEGIES["guided"].schema


def test_an_option_cannot_be_given_by_both_names() -> None:
    with pytest.raises(UsageError, match=r"^beam and beam_width are the same option\."):
        check(beam=2, beam_width=3)


@pytest.mark.parametrize("option", GuidedSettings.model_fields)
def test_every_option_has_a_description(option: str) -> None:
    assert GuidedSettings.model_fields[option].description


@pytest.mark.parametrize(
    "option", [name for name in GuidedSettings.model_fields if name not in ("report_at", "keep_on_interrupt")]
)
def test_every_number_has_a_bound(option: str) -> None:
    with pytest.raises(UsageError, match=rf"{option} must be at least -?\d+, got -2\.?"):
        check(**{option: -2})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "Strategy 'guided': beam must be at least 1, got 0."),
        ({"prefilter_ratio": 0}, "Strategy 'guided': prefilter_ratio must be at least 1, got 0."),
        ({"nonsense": 1}, "The strategy 'guided' has no option 'nonsense'."),
        ({"steps": 1.5}, "Strategy 'guided': steps must be a whole number, got 1.5."),
        ({"beam": "x"}, "Strategy 'guided': beam must be a whole number, got 'x'."),
    ],
)
def test_a_wrong_value_is_told_in_one_line(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as told:
        check(**options)
    assert str(told.value).split("\n")[0] == message


def test_the_types_are_those_of_the_command_line() -> None:
    schema = STRATEGIES["guided"].schema
    assert list(schema) == list(GuidedSettings.model_fields)
    assert schema["beam_width"]["type"] == "integer"
    assert schema["beam_width"]["minimum"] == 1
    assert schema["target_cosine"]["type"] == "number"


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        GuidedSettings().beam_width = 3
