"""What every defence keeps to."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from defence_cases import DIMENSION, fresh, some_vectors

from unembed.defences import Defence, defence_names, make_defence
from unembed.defences.saved_defence import SECRET, load_defence
from unembed.errors import DataError, UsageError


@pytest.fixture(scope="module", params=defence_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def fitted(name: str) -> Defence:
    defence = fresh(name)
    defence.fit(some_vectors(), seed=5)
    return defence


def test_it_follows_the_protocol(fitted: Defence, name: str) -> None:
    info = fitted.info
    assert isinstance(fitted, Defence)
    assert info.name == name
    assert info.title
    assert info.source
    assert (info.strength is None) == (not info.strengths)
    assert fitted.describe()["method"] == name


def test_every_strength_of_its_curve_can_be_made(name: str) -> None:
    info = make_defence(name).info
    for strength in info.strengths:
        assert info.strength is not None
        assert make_defence(name, **{info.strength: strength}).describe()[info.strength] == strength


def test_what_comes_out_has_the_shape_that_it_says(fitted: Defence) -> None:
    out = fitted.apply(some_vectors(7, seed=1))
    assert out.dtype == np.float32
    assert out.shape == (7, fitted.dimension(DIMENSION))
    assert fitted.query(some_vectors(3)).shape == (3, fitted.dimension(DIMENSION))
    assert 0 < fitted.bytes_per_vector(DIMENSION) <= 4 * DIMENSION
    assert fitted.apply(np.empty((0, DIMENSION), np.float32)).shape == (0, fitted.dimension(DIMENSION))


def test_a_row_does_not_depend_on_its_batch(fitted: Defence) -> None:
    vectors = some_vectors(40, seed=1)
    whole = fitted.apply(vectors, seed=3)
    np.testing.assert_allclose(fitted.apply(vectors[7:9], seed=3), whole[7:9], atol=1e-5)
    np.testing.assert_allclose(fitted.apply(vectors[::-1], seed=3), whole[::-1], atol=1e-5)


def test_another_seed_is_other_noise_and_nothing_else_is_random(fitted: Defence) -> None:
    vectors = some_vectors(10, seed=1)
    same = np.allclose(fitted.apply(vectors, seed=1), fitted.apply(vectors, seed=2), atol=1e-6)
    assert same != fitted.info.random
    np.testing.assert_array_equal(fitted.apply(vectors, seed=1), fitted.apply(vectors, seed=1))


def test_the_same_seed_draws_the_same_secret_and_another_one_another(fitted: Defence, name: str) -> None:
    vectors = some_vectors(10, seed=1)
    again, other = fresh(name), fresh(name)
    again.fit(some_vectors(), seed=5)
    other.fit(some_vectors(), seed=6)
    np.testing.assert_allclose(again.apply(vectors), fitted.apply(vectors), atol=1e-5)
    if fitted.info.secret:
        assert not np.allclose(other.query(vectors), fitted.query(vectors), atol=1e-2)


def test_queries_stay_clean_unless_they_must_be_defended(fitted: Defence) -> None:
    vectors = some_vectors(5)
    if not fitted.info.queries_too:
        np.testing.assert_array_equal(fitted.query(vectors), vectors)
    elif not fitted.info.random:
        np.testing.assert_array_equal(fitted.query(vectors), fitted.apply(vectors))


def test_the_input_is_left_alone(fitted: Defence) -> None:
    vectors = some_vectors(5)
    before = vectors.copy()
    fitted.apply(vectors)
    fitted.query(vectors)
    np.testing.assert_array_equal(vectors, before)


def test_a_saved_one_does_the_same(fitted: Defence, tmp_path: Path) -> None:
    vectors = some_vectors(10, seed=1)
    fitted.save(tmp_path / "kept")
    loaded = load_defence(tmp_path / "kept")
    np.testing.assert_array_equal(loaded.apply(vectors, seed=2), fitted.apply(vectors, seed=2))
    np.testing.assert_array_equal(loaded.query(vectors), fitted.query(vectors))
    assert loaded.describe() == fitted.describe()
    assert stat.S_IMODE((tmp_path / "kept" / SECRET).stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="already there"):
        fitted.save(tmp_path / "kept")


def test_bad_vectors_are_refused(fitted: Defence) -> None:
    vectors = some_vectors(5)
    vectors[3, 2] = np.nan
    with pytest.raises(DataError, match="Vector 3 has NaN"):
        fitted.apply(vectors)
    with pytest.raises(DataError, match="fitted on vectors of 24 numbers; these have 12"):
        fitted.apply(some_vectors(5, dimension=12))
    with pytest.raises(DataError, match="table"):
        fitted.apply(some_vectors(5)[0])


def test_one_that_must_be_fitted_says_so(name: str) -> None:
    defence = fresh(name)
    if defence.info.needs_fit:
        with pytest.raises(UsageError, match="must be fitted"):
            defence.apply(some_vectors(3))
    else:
        assert len(defence.apply(some_vectors(3))) == 3


def test_an_unusual_vector_gives_finite_numbers(fitted: Defence) -> None:
    vectors = np.stack([np.zeros(DIMENSION), np.full(DIMENSION, 1e4), -np.eye(DIMENSION)[0]]).astype(
        np.float32
    )
    assert np.isfinite(fitted.apply(vectors)).all()
