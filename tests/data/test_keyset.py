import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unembed.data.keyset import KeySet


@given(st.lists(st.lists(st.integers(min_value=0, max_value=40) | st.integers(0, 2**64 - 1), max_size=30)))
def test_it_is_a_set(batches: list[list[int]]) -> None:
    ours, reference = KeySet(), set()
    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in reference)
            reference.add(key)
        assert ours.add(np.array(batch, dtype=np.uint64)).tolist() == expected
        assert len(ours) == len(reference)


def test_runs_stay_few() -> None:
    ours = KeySet()
    random = np.random.default_rng(0)
    for _ in range(300):
        ours.add(random.integers(0, 2**63, size=17, dtype=np.uint64))
    assert len(ours._runs) < 15
