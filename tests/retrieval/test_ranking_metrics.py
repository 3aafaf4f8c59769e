"""nDCG and recall against hand computation and trec_eval's published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.retrieval.neighbours_kept import nearest_neighbours, neighbours_kept
from unembed.retrieval.rank_documents import rank_documents
from unembed.retrieval.ranking_metrics import ndcg, recall


def test_ndcg_by_hand() -> None:
    # Grades 0, 1, 2 at ranks 1 to 3; ideal 2, 1. Linear gain, as trec_eval has it.
    dcg = 1 / math.log2(3) + 2 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg([7, 1, 2], {1: 1, 2: 2}) == pytest.approx(dcg / ideal)
    assert ndcg([7, 1, 2], {1: 1, 2: 2}) == pytest.approx(0.6199062332840657)


def test_only_the_first_ten_count() -> None:
    assert ndcg([*range(10), 99], {99: 1}) == 0.0
    assert recall([*range(10), 99], {99: 1, 3: 1}) == 0.5
    # Twelve relevant documents: the ideal ranking is cut at ten as well.
    assert ndcg(list(range(10)), dict.fromkeys(range(12), 1)) == pytest.approx(1.0)
    assert recall(list(range(10)), dict.fromkeys(range(12), 1)) == pytest.approx(10 / 12)


@given(st.permutations(range(12)), st.dictionaries(st.integers(0, 11), st.integers(1, 3), min_size=1))
def test_bounds_and_the_ideal(ranking: list[int], relevant: dict[int, int]) -> None:
    assert 0.0 <= ndcg(ranking, relevant) <= 1.0 + 1e-12
    ideal = sorted(ranking, key=lambda document: -relevant.get(document, 0))
    assert ndcg(ideal, relevant) == pytest.approx(1.0)


def test_ranking_is_by_cosine_and_leaves_out_what_it_is_told() -> None:
    documents = np.array([[10, 0], [0.6, 0.8], [0, 1], [0, 0]], dtype=np.float32)
    queries = np.array([[0.5, 0.1], [0, 2]], dtype=np.float32)
    assert rank_documents(queries, documents, 3).tolist() == [[0, 1, 2], [2, 1, 0]]
    without = np.array([0, -1])
    assert rank_documents(queries, documents, 2, without=without).tolist() == [[1, 2], [2, 1]]


def test_a_rotation_keeps_all_neighbours_and_noise_loses_some() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(60, 16)).astype(np.float32)
    turned = vectors @ np.linalg.qr(random.normal(size=(16, 16)))[0].astype(np.float32)
    before = nearest_neighbours(vectors, vectors)
    assert not (before == np.arange(60)[:, None]).any()  # nobody is his own neighbour
    assert neighbours_kept(before, nearest_neighbours(turned, turned)) == [1.0] * 60
    noise = random.normal(size=vectors.shape).astype(np.float32)
    kept = float(np.mean(neighbours_kept(before, nearest_neighbours(vectors, 1e6 * noise))))
    assert kept == pytest.approx(10 / 59, abs=0.08)  # chance
