import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toy import sentences
from unembed.data.normalise import text_keys
from unembed.data.split import SPLITS, split_labels

shares = st.floats(min_value=0, max_value=0.5)
keys = st.lists(st.integers(min_value=0, max_value=2**64 - 1), max_size=50).map(
    lambda values: np.array(values, dtype=np.uint64)
)


@given(st.text(min_size=1), shares, shares)
def test_texts_that_are_the_same_fall_on_the_same_side(text: str, validation: float, test: float) -> None:
    variants = text_keys([text, text.upper().lower(), f"  “{text}”! ", text.replace(" ", "\u00a0")])
    same = variants[variants == variants[0]]
    labels = split_labels(same, validation_share=validation, test_share=test)
    assert len(set(labels.tolist())) == 1
    assert variants[3] == variants[0]


@pytest.mark.parametrize(("validation", "test"), [(0.01, 0.01), (0.1, 0.2), (0, 0.05), (0.5, 0.5)])
def test_shares_are_what_was_asked_for(validation: float, test: float) -> None:
    count = 20_000
    labels = split_labels(
        text_keys([f"{text} {n}" for n, text in enumerate(sentences(200) * (count // 200))]),
        validation_share=validation,
        test_share=test,
    )
    for share, name in ((validation, "validation"), (test, "test")):
        found = int((labels == SPLITS.index(name)).sum())
        # Five standard deviations of a binomial.
        assert abs(found - share * count) <= 5 * (count * share * (1 - share)) ** 0.5


@given(keys, shares, shares, shares, shares)
def test_a_larger_share_takes_from_train_only(
    values: np.ndarray, validation: float, test: float, more_validation: float, more_test: float
) -> None:
    small = split_labels(values, validation_share=validation, test_share=test)
    large = split_labels(
        values, validation_share=max(validation, more_validation), test_share=max(test, more_test)
    )
    held_out = small != SPLITS.index("train")
    assert (large[held_out] == small[held_out]).all()


@given(keys, shares, shares)
def test_the_side_depends_on_nothing_else(values: np.ndarray, validation: float, test: float) -> None:
    together = split_labels(values, validation_share=validation, test_share=test)
    alone = [
        split_labels(values[n : n + 1], validation_share=validation, test_share=test)[0]
        for n in range(len(values))
    ]
    assert together.tolist() == alone


def test_the_ends_of_the_range() -> None:
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert split_labels(ends, validation_share=0, test_share=0).tolist() == [0, 0]
    assert split_labels(ends, validation_share=0.01, test_share=0.01).tolist() == [2, 1]
