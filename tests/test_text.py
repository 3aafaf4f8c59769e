import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
from unembed.text import natural, read_back, tokenise


@pytest.mark.parametrize(
    ("decoded", "written"),
    [
        ("i didn ' t want tom ' s cake at ten o ' clock.", "i didn't want tom's cake at ten o'clock."),
        ("mr. o ' brien is well - known.", "mr. o'brien is well-known."),
        ("it is 10 : 30, and 3. 5 % of 10, 000 ( so )", "it is 10:30, and 3.5% of 10,000 (so)"),
        ('he said, " come in. "', 'he said, "come in."'),
        ("it costs $ 5 : no more", "it costs $5: no more"),
        ("the boys ' house", "the boys ' house"),  # no telling
        ("one, two, three", "one, two, three"),
        ("in 1, 2 or 3", "in 1, 2 or 3"),
    ],
)
def test_marks_go_where_people_put_them(decoded, written):
    assert natural(decoded) == written


@given(st.text(alphabet="ab1 '\"-.,:%$()", max_size=30))
def test_only_spaces_change(text):
    assert natural(text).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet="abt1 '\"-.,:%$()", max_size=30))
def test_the_tokens_stay_the_same(text):
    tokenizer = toy.wordpiece()
    (ids,) = tokenise(tokenizer, [text])
    (back,) = read_back(tokenizer, [ids])
    plain = tokenizer.decode(ids).strip()
    assert tokenise(tokenizer, [back]) == tokenise(tokenizer, [plain])
