"""The attacker who knows how a text begins: what he is given, what counts, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import MakeCase, row

import toy
from unembed.audit.attack_rows import AttackLog
from unembed.audit.completions import FLOOR, NAME, begun_texts, complete, read_completions

SHORT = [*toy.sentences(3), "Too short for this."]
LONG = [" ".join([text] * 6) for text in SHORT[:3]]


def test_a_third_of_the_words_is_given_and_of_a_long_text_eight(make_case_of: MakeCase) -> None:
    begun = begun_texts(make_case_of([*SHORT, *LONG]))
    assert [len(one.beginning.split()) for one in begun[:3]] == [len(text.split()) // 3 for text in SHORT[:3]]
    assert [one.long for one in begun] == [False] * 3 + [True] * 3
    assert all(len(one.beginning.split()) == 8 for one in begun if one.long)
    assert all(f"{one.beginning} {one.rest}" in (*SHORT, *LONG) for one in begun)


def test_without_texts_nobody_knows_a_beginning(make_case_of: MakeCase) -> None:
    assert begun_texts(make_case_of([None, None])) == []


def test_rows_hold_the_rest_alone_and_none_is_made_twice(make_case_of: MakeCase, tmp_path: Path) -> None:
    case = make_case_of([*SHORT, *LONG])
    with AttackLog(tmp_path) as log:
        complete(case, log)
        rows = {(one.attacker, one.target): one.recovered for one in log.rows}
        assert len(rows) == len(log.rows) == 2 * 6
        complete(case, log)
        assert len(log.rows) == 2 * 6
        found = read_completions(case, log)
    tokens = case.tokens([text or "" for text in rows.values()])
    assert all(0 < len(ids) < case.chosen.base.max_length for ids in tokens)
    long = [len(ids) for (_, target), ids in zip(rows, tokens, strict=True) if target >= len(case.targets)]
    assert all(length > case.chosen.base.max_length // 3 for length in long)  # as much as there is room for
    assert [(one.long, one.n) for one in found.figures] == [(False, 3), (True, 3)]


@pytest.mark.parametrize("guessed", [True, False])
def test_what_the_words_alone_suggest_has_not_leaked(
    make_case_of: MakeCase, tmp_path: Path, guessed: bool
) -> None:
    case = make_case_of([*SHORT, *LONG])
    begun = begun_texts(case)
    with AttackLog(tmp_path) as log:
        log.append(row(one.number, one.rest, attacker=NAME) for one in begun)
        log.append(row(one.number, one.rest if guessed else "", attacker=FLOOR) for one in begun)
        short, long = read_completions(case, log).figures
    exact, f1, words = short.measures
    assert [one.figure.value for one in (exact, f1, words)] == [1, 1, 1]
    assert {one.leaked.value for one in (exact, f1, words)} == {0 if guessed else 1}
    assert [one.name for one in long.measures] == ["f1", "words"]  # nobody has room for all of a long one
    assert long.measures[0].figure.value < 1  # what is compared is as long as the model writes


def test_words_of_the_beginning_do_not_count(make_case_of: MakeCase, tmp_path: Path) -> None:
    case = make_case_of(SHORT)
    begun = begun_texts(case)
    with AttackLog(tmp_path) as log:
        for name in (NAME, FLOOR):
            log.append(row(one.number, one.beginning, attacker=name) for one in begun)
        [short] = read_completions(case, log).figures
    assert short.measures[-1].figure.value == 0
