"""The settings of a guided search: their bounds, their old names, and errors of one line."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from unembed.errors import UsageError
from unembed.search.settings import GuidedSettings
from unembed.search.strategies import make_strategy, parse_options, strategy_options


@pytest.mark.parametrize(("old", "new"), GuidedSettings.OLD_NAMES.items())
def test_old_names_are_still_read(old: str, new: str) -> None:
    assert GuidedSettings(**{old: 1}) == GuidedSettings(**{new: 1}) != GuidedSettings()
    assert make_strategy("guided", **parse_options("guided", [f"{old}=1"])) == GuidedSettings(**{new: 1})
    assert old not in strategy_options("guided")


def test_an_option_cannot_be_given_by_both_names() -> None:
    with pytest.raises(UsageError, match=r"^beam and beam_width are the same option\.$"):
        GuidedSettings(beam=2, beam_width=3)


@pytest.mark.parametrize("option", GuidedSettings.model_fields)
def test_every_option_has_a_description_and_a_bound(option: str) -> None:
    assert GuidedSettings.model_fields[option].description
    with pytest.raises(UsageError, match=rf"^{option} must be at least -?\d, got -2\.?"):
        GuidedSettings(**{option: -2})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam must be at least 1, got 0."),
        ({"prefilter_ratio": 0}, "prefilter_ratio must be at least 1, got 0."),
        ({"nonsense": 1}, "The strategy 'guided' has no option 'nonsense'."),
        (
            {"steps": 1.5},
            "steps: Input should be a valid integer, got a number with a fractional part, got 1.5.",
        ),
    ],
)
def test_a_wrong_value_is_told_in_one_line(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as told:
        GuidedSettings(**options)
    assert str(told.value) == message


def test_the_types_are_those_of_the_command_line() -> None:
    kinds = strategy_options("guided")
    assert list(kinds) == list(GuidedSettings.model_fields)
    assert kinds["beam_width"] is int
    assert kinds["target_cosine"] is float
    with pytest.raises(UsageError, match="The option beam of 'guided' is an int, not 'x'"):
        parse_options("guided", ["beam=x"])


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        GuidedSettings().beam_width = 3
