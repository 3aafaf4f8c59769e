"""What single methods promise: identities, equations, published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from defence_cases import DIMENSION, fresh, some_vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers.util.quantization import quantize_embeddings

from unembed.defences import Defence, make_defence
from unembed.defences.base import Floats
from unembed.defences.dp_gaussian import analytic_sigma, classical_sigma, privacy_loss_delta
from unembed.defences.keyed_noise import normal_rows, uniform_rows
from unembed.defences.noise_ball import unit_ball_rows

SEEDS = st.integers(0, 2**128)
NOTHING = {
    "gaussian": {"sigma": 0},
    "dp-gaussian": {"epsilon": math.inf, "clip": 1e6},
    "ball": {"radius": 0},
    "metric-dp": {"eta": math.inf},
    "truncation": {"removed": 0},
    "pca": {"removed": 0},
    "all-but-the-top": {"components": 0},
    "mixing": {"weight": 0},
    "learnt": {"adversary": 0},
}


def made(name: str, vectors: Floats, *, seed: int = 0, **parameters: float) -> Defence:
    defence = fresh(name, **parameters)
    defence.fit(vectors, seed=seed)
    return defence


def unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("name", NOTHING)
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_no_strength_is_the_identity(name: str, seed: int) -> None:
    vectors = some_vectors(20, seed=seed)
    defence = made(name, vectors, seed=seed, **NOTHING[name])
    np.testing.assert_array_equal(defence.apply(vectors, seed=seed), vectors)
    np.testing.assert_array_equal(defence.query(vectors), vectors)


@pytest.mark.parametrize(
    ("name", "endless"),
    [
        ("gaussian", {"sigma": 1e9}),
        ("dp-gaussian", {"epsilon": 1e-6}),
        ("ball", {"radius": 1e9}),
        ("metric-dp", {"eta": 1e-6}),
    ],
)
def test_endless_noise_leaves_nothing(name: str, endless: dict[str, float]) -> None:
    vectors = unit(some_vectors(400))
    cosines = (unit(make_defence(name, **endless).apply(vectors)) * vectors).sum(axis=1)
    assert abs(cosines.mean()) < 3 / math.sqrt(400 * DIMENSION)


@pytest.mark.parametrize("name", ["rotation", "permutation"])
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_a_rotation_and_a_permutation_keep_all_inner_products(name: str, seed: int) -> None:
    vectors = some_vectors(20, seed=seed)
    defence = made(name, vectors, seed=seed)
    stored, asked = defence.apply(vectors), defence.query(vectors)
    np.testing.assert_allclose(asked @ stored.T, vectors @ vectors.T, rtol=1e-5, atol=1e-4)
    assert not np.allclose(stored, vectors)


def test_rotations_are_uniform() -> None:
    """A column of a uniform rotation has either sign with equal probability; plain QR fixes it."""
    axis = np.eye(4, dtype=np.float32)
    corners = [made("rotation", axis, seed=seed).apply(axis)[0, 0] for seed in range(300)]
    assert abs(np.mean(np.sign(corners))) < 0.2


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_a_projection_keeps_inner_products_in_the_mean(seed: int) -> None:
    vectors = unit(some_vectors(20, dimension=256, seed=seed))
    stored = made("random-projection", vectors, seed=seed, removed=0.5).apply(vectors)
    off = stored @ stored.T - vectors @ vectors.T  # standard deviation sqrt((1 + cos^2) / k) at most
    assert np.abs(off).max() < 6 * math.sqrt(2 / 128)


def test_keyed_numbers_have_the_distribution_that_they_say() -> None:
    vectors = some_vectors(2000)
    normal, flat = normal_rows(vectors, 9, 1, "test"), uniform_rows(vectors, 9, 1, "test")
    assert abs(normal.mean()) < 0.03
    assert normal.std() == pytest.approx(1, abs=0.02)
    assert (normal**4).mean() == pytest.approx(3, abs=0.2)
    assert flat.mean() == pytest.approx(0.5, abs=0.01)
    assert flat.std() == pytest.approx(math.sqrt(1 / 12), abs=0.01)
    assert np.abs(np.corrcoef(normal.T) - np.eye(9)).max() < 0.1


def test_points_of_the_ball_are_uniform() -> None:
    points = unit_ball_rows(some_vectors(4000, dimension=3), 1, "test")
    radii = np.linalg.norm(points, axis=1)
    assert radii.max() <= 1
    assert (radii < 0.5).mean() == pytest.approx(1 / 8, abs=0.02)
    assert np.abs(points.mean(axis=0)).max() < 0.03


@pytest.mark.parametrize(
    "typed",
    [
        ("gaussian", {}),
        ("ball", {}),
        ("metric-dp", {"eta": 50}),
        ("dp-gaussian", {"epsilon": 300, "clip": 2}),
    ],
)
def test_noise_is_as_large_as_described(typed: tuple[str, dict[str, float]]) -> None:
    vectors = 2 * unit(some_vectors(2000))
    defence = made(typed[0], vectors, **typed[1])
    noise = defence.apply(vectors) - vectors
    said = defence.describe()
    assert noise.std() == pytest.approx(said["noise_per_dimension"], rel=0.03)
    relative = math.sqrt((noise**2).sum(axis=1).mean()) / 2
    assert relative == pytest.approx(said["noise_relative_to_norm"], rel=0.03)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-5, 3.7306316348), (0.5, 1e-5, 7.0318266756), (10, 1e-6, 0.5410868318), (0.1, 1e-3, 17.404396203)],
)
def test_sigma_of_the_analytic_mechanism(epsilon: float, delta: float, sigma: float) -> None:
    """The values of Google's dp-accounting, gaussian_mechanism.get_sigma_gaussian, sensitivity 1."""
    assert analytic_sigma(epsilon, delta, 1.0) == pytest.approx(sigma, rel=1e-9)
    assert analytic_sigma(epsilon, delta, 2.0) == pytest.approx(2 * sigma, rel=1e-9)


def test_sigma_of_the_classical_mechanism() -> None:
    """sqrt(2 ln(1.25 / delta)) / epsilon, Dwork and Roth 2014: more noise than is needed."""
    assert classical_sigma(0.5, 1e-5, 1.0) == pytest.approx(9.6896105252, rel=1e-9)
    assert privacy_loss_delta(classical_sigma(0.5, 1e-5, 1.0), 0.5, 1.0) < 1e-5


@settings(max_examples=50, deadline=None)
@given(epsilon=st.floats(1e-3, 1e6), delta=st.floats(1e-10, 0.1), sensitivity=st.floats(1e-3, 1e3))
def test_the_guarantee_is_met_and_not_by_more_than_rounding(
    epsilon: float, delta: float, sensitivity: float
) -> None:
    sigma = analytic_sigma(epsilon, delta, sensitivity)
    assert privacy_loss_delta(sigma, epsilon, sensitivity) <= delta
    assert privacy_loss_delta(0.999 * sigma, epsilon, sensitivity) > delta


def test_any_two_clipped_vectors_may_be_a_diameter_apart() -> None:
    said = make_defence("dp-gaussian", epsilon=1, clip=1.5).describe()
    assert said["noise_per_dimension"] == pytest.approx(3 * 3.7306316348, rel=1e-9)


def test_long_vectors_are_clipped_before_the_noise() -> None:
    vectors = 5 * unit(some_vectors(50))
    stored = make_defence("dp-gaussian", epsilon=math.inf, clip=2).apply(vectors)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 2, rtol=1e-5)


def test_int8_codes_are_those_of_sentence_transformers() -> None:
    vectors = some_vectors(300)
    vectors[:, 3] = 0.25  # a dimension that is always the same
    stored = made("int8", vectors).apply(vectors)
    ranges = np.stack([vectors.min(axis=0), vectors.max(axis=0)])
    step = (ranges[1] - ranges[0]) / 255
    codes = quantize_embeddings(vectors, precision="int8", ranges=ranges)
    decoded = ranges[0] + (codes.astype(np.float64) + 128.5) * step
    np.testing.assert_allclose(stored, decoded, atol=1e-5)
    assert (np.abs(stored - vectors) <= 0.51 * step + 1e-5).all()


def test_binary_codes_are_those_of_sentence_transformers() -> None:
    vectors = some_vectors(20)
    bits = np.unpackbits(quantize_embeddings(vectors, precision="ubinary"), axis=1)
    np.testing.assert_array_equal(make_defence("binary").apply(vectors) > 0, bits == 1)
    assert make_defence("binary").bytes_per_vector(10) == 2


def test_product_quantisation_is_that_of_faiss() -> None:
    import faiss

    vectors = some_vectors(600)
    stored = made("pq", vectors, subvector=6, seed=1234).apply(vectors)
    quantiser = faiss.ProductQuantizer(DIMENSION, 4, 8)
    quantiser.train(vectors)
    assert ((stored - vectors) ** 2).mean() == pytest.approx(
        ((quantiser.decode(quantiser.compute_codes(vectors)) - vectors) ** 2).mean(), rel=0.05
    )
    assert make_defence("pq", subvector=5).bytes_per_vector(24) == 5
    np.testing.assert_array_equal(made("pq", vectors, subvector=5).apply(vectors).shape, vectors.shape)


def test_truncated_vectors_keep_their_length() -> None:
    vectors = some_vectors(30)
    stored = make_defence("truncation", dimensions=6).apply(vectors)
    np.testing.assert_allclose(unit(stored), unit(vectors[:, :6]), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-5)
    assert make_defence("truncation", dimensions=6).bytes_per_vector(24) == 24


def test_principal_components_keep_more_than_the_first_numbers() -> None:
    vectors = unit(some_vectors(300))
    exact = vectors @ vectors.T
    errors = {}
    for name in ("pca", "truncation"):
        stored = made(name, vectors, dimensions=12).apply(vectors)
        errors[name] = float(np.abs(stored @ stored.T - exact).mean())
    assert errors["pca"] < 0.5 * errors["truncation"]


def test_dominant_directions_are_gone() -> None:
    vectors = some_vectors(300)
    stored = made("all-but-the-top", vectors, components=3).apply(vectors)
    centred = vectors - vectors.mean(axis=0)
    top = np.linalg.svd(centred, full_matrices=False)[2][:3]
    assert np.abs(stored @ top.T).max() < 1e-3
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-4)


def test_mixing_is_the_mean_with_the_nearest_others() -> None:
    vectors = unit(some_vectors(50))
    stored = made("mixing", vectors, weight=0.4, neighbours=3).apply(vectors)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1)[:, :3]
    np.testing.assert_allclose(stored, unit(0.6 * vectors + 0.4 * vectors[nearest].mean(axis=1)), atol=1e-5)


def test_scale_and_perturb_without_noise_keeps_every_cosine() -> None:
    vectors = unit(some_vectors(30))
    defence = made("cloaked", vectors, approximation=0)
    stored = unit(defence.apply(vectors))
    np.testing.assert_allclose(unit(defence.query(vectors)) @ stored.T, vectors @ vectors.T, atol=1e-5)


def test_the_noise_of_scale_and_perturb_stays_in_its_ball() -> None:
    vectors = unit(some_vectors(200))
    clean, noisy = (made("cloaked", vectors, approximation=beta, seed=4) for beta in (0, 1.5))
    off = noisy.apply(vectors) - clean.apply(vectors)
    scale = np.linalg.norm(clean.apply(vectors), axis=1)
    relative = np.linalg.norm(off, axis=1) / scale
    assert relative.max() <= 1.5 / 4 + 1e-5
    assert relative.mean() == pytest.approx(1.5 / 4 * DIMENSION / (DIMENSION + 1), rel=0.02)


def test_a_cloaked_query_is_near_its_document_and_not_the_same() -> None:
    """Were the noise the same, whoever may ask could tell a right guess from a near one."""
    vectors = unit(some_vectors(30))
    defence = made("cloaked", vectors, approximation=1, seed=4)
    stored, asked = unit(defence.apply(vectors, seed=4)), unit(defence.query(vectors))
    cosines = (stored * asked).sum(axis=1)
    assert (cosines > 0.85).all()
    assert (cosines < 0.999).all()
