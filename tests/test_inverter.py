"""The pipeline: vectors of any kind in, texts out, the same whatever their company."""

from __future__ import annotations

import dataclasses
import tracemalloc
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

import tiny
import toy
from unembed import Inverter
from unembed.decode import DECODERS
from unembed.errors import DataError, MismatchError, UnembedError, UsageError
from unembed.inverter import BUNDLED, InvertConfig, PlausibilityWarning, Update
from unembed.text import tokenise


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return toy.wordpiece()


@pytest.fixture(scope="module")
def encoder(tokenizer: Tokenizer) -> toy.ToyEncoder:
    return toy.ToyEncoder(tokenizer=tokenizer)


@pytest.fixture(scope="module")
def inverter(tokenizer: Tokenizer, encoder: toy.ToyEncoder) -> Inverter:
    model = tiny.checkpoint(tokenizer, encoder.info)
    model.denoiser.double()  # so that the batch's size does not show in the last bits
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="module")
def fixed(tokenizer: Tokenizer, encoder: toy.ToyEncoder) -> Inverter:
    return Inverter(tiny.checkpoint(tokenizer, encoder.info, length="fixed"))


@pytest.fixture(scope="module")
def vectors(encoder: toy.ToyEncoder) -> np.ndarray:
    return encoder.encode(toy.sentences(12))


def test_one_in_one_out_many_in_many_out(inverter: Inverter, vectors: np.ndarray) -> None:
    one = inverter.invert(vectors[0])
    assert one.text == inverter.invert(vectors[:1])[0].text
    assert len(inverter.invert(vectors)) == 12
    assert inverter.invert(vectors[:0]) == []
    assert inverter.invert([]) == []


def test_numpy_torch_and_lists_are_the_same(inverter: Inverter, vectors: np.ndarray) -> None:
    expected = inverter.invert(vectors[:3])
    for same in (
        torch.from_numpy(vectors[:3]),
        vectors[:3].astype(np.float64),
        vectors[:3].tolist(),
        list(vectors[:3]),
        list(torch.from_numpy(vectors[:3])),
        tuple(vectors[:3].tolist()),
    ):
        assert inverter.invert(same) == expected
    assert inverter.invert(vectors[0].tolist()) == expected[0]
    assert inverter.invert(torch.from_numpy(vectors[0])) == expected[0]


def test_what_a_result_carries(inverter: Inverter, vectors: np.ndarray) -> None:
    result = inverter.invert(vectors[0], n_best=4, trace=True)
    assert result.text
    assert 1 <= len(result.tokens) <= 10
    assert inverter.checkpoint.tokenizer.decode(list(result.tokens)) == result.text
    assert result.score < 0
    assert result.forward_passes >= 1
    assert not result.length_known
    scores = [result.score, *(other.score for other in result.alternatives)]
    assert scores == sorted(scores, reverse=True)
    assert len({result.text, *(other.text for other in result.alternatives)}) == len(scores) == 4
    assert result.trace is not None
    assert set(result.trace[0].tokens) == {None}
    assert result.trace[-1].tokens == result.tokens
    assert result.trace[-1].text == result.text
    assert "░" in result.trace[0].text
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.text = "other"


@pytest.mark.parametrize("strategy", list(DECODERS))
def test_a_text_does_not_depend_on_its_neighbours(
    inverter: Inverter, vectors: np.ndarray, strategy: str
) -> None:
    options = {"strategy": strategy, "steps": 8, "seed": 3, "trace": True}
    many = inverter.invert(vectors, **options)
    turned = inverter.invert(vectors[::-1], batch_size=2, **options)[::-1]
    for row, result in enumerate(many):
        alone = inverter.invert(vectors[row], **options)
        assert result.text == alone.text == turned[row].text
        assert result.score == pytest.approx(alone.score, abs=1e-4)
        assert result.forward_passes == alone.forward_passes == turned[row].forward_passes
        assert result.trace == alone.trace


def test_the_n_best_do_not_depend_on_the_neighbours(inverter: Inverter, vectors: np.ndarray) -> None:
    # Vectors differ in how many lengths are worth a try, and so in the hypotheses they need.
    many = inverter.invert(vectors, n_best=7, num_lengths=9)
    for vector, result in zip(vectors, many, strict=True):
        alone = inverter.invert(vector, n_best=7, num_lengths=9)
        assert [result.text, *(other.text for other in result.alternatives)] == [
            alone.text,
            *(other.text for other in alone.alternatives),
        ]


def test_another_seed_samples_another_text(inverter: Inverter, vectors: np.ndarray) -> None:
    first, again, other = (
        [result.text for result in inverter.invert(vectors, strategy="euler", seed=seed, lengths=8)]
        for seed in (0, 0, -7)
    )
    assert first == again != other


def test_known_lengths(inverter: Inverter, vectors: np.ndarray) -> None:
    for lengths, expected in (([7, 3, 9], [7, 3, 9]), (4, [4, 4, 4]), (np.array([1, 2, 3]), [1, 2, 3])):
        results = inverter.invert(vectors[:3], lengths=lengths)
        assert [len(result.tokens) for result in results] == expected
        assert all(result.length_known for result in results)


def test_known_beginnings(inverter: Inverter, fixed: Inverter, vectors: np.ndarray) -> None:
    """The given words stay, whatever the length; a vector's text does not depend on its neighbours."""
    given = tuple(f"the {word}" for word in ("small dog", "old river sees", "cat")) * 4
    for model in (inverter, fixed):
        known = [tuple(ids) for ids in tokenise(model.checkpoint.tokenizer, given)]
        many = model.invert(vectors, beginnings=given, n_best=2)
        for result, ids in zip(many, known, strict=True):
            assert result.tokens[: len(ids)] == ids
            assert all(other.tokens[: len(ids)] == ids for other in result.alternatives)
        alone = model.invert(vectors[1], beginnings=given[1], n_best=2)
        assert alone.text == many[1].text
    same = inverter.invert(vectors[:3], beginnings="the", lengths=[5, 2, 7])
    assert [len(result.tokens) for result in same] == [5, 2, 7]


@pytest.mark.parametrize("strategy", ["confidence", "euler", "beam", "mask-predict"])
def test_alternatives_where_there_is_one_length(
    inverter: Inverter, fixed: Inverter, vectors: np.ndarray, strategy: str
) -> None:
    [result] = inverter.invert(vectors[:1], lengths=[6], n_best=3, strategy=strategy)
    assert 1 <= len(result.alternatives) <= 2
    assert all(len(other.tokens) == 6 for other in result.alternatives)
    [result] = fixed.invert(vectors[:1], n_best=3, strategy=strategy, trace=True)
    assert result.trace is not None
    assert tuple(token for token in result.trace[-1].tokens) == result.tokens


def test_more_candidates_never_score_lower(inverter: Inverter, vectors: np.ndarray) -> None:
    few, many = (inverter.invert(vectors, num_lengths=count) for count in (1, 8))
    assert all(b.score >= a.score - 1e-4 for a, b in zip(few, many, strict=True))
    assert sum(b.forward_passes for b in many) > sum(a.forward_passes for a in few)


def test_fixed_length_models_end_by_themselves(fixed: Inverter, vectors: np.ndarray) -> None:
    results = fixed.invert(vectors)
    assert all(len(result.tokens) <= 10 and not result.length_known for result in results)
    with pytest.raises(UsageError, match="lengths cannot be given"):
        fixed.invert(vectors, lengths=3)


def test_stream_takes_any_iterable(inverter: Inverter, vectors: np.ndarray) -> None:
    expected = [result.text for result in inverter.invert(vectors)]

    def blocks() -> Iterator[np.ndarray]:
        yield vectors[0]
        yield vectors[1:7]
        yield vectors[7:7]
        yield from vectors[7:]

    assert [result.text for result in inverter.stream(blocks(), batch_size=1)] == expected
    assert [result.text for result in inverter.stream(iter(vectors), batch_size=2)] == expected


def test_a_mapped_file_streams_in_constant_memory(inverter: Inverter, tmp_path: Path) -> None:
    """Two million numbers on the disk; what is held while the first results come is a small part."""
    many = np.lib.format.open_memmap(tmp_path / "many.npy", mode="w+", dtype=np.float32, shape=(250_000, 16))
    many[:] = 0.25
    many.flush()
    mapped = np.load(tmp_path / "many.npy", mmap_mode="r")
    stream = inverter.stream(mapped, batch_size=8, steps=1, num_lengths=1, check=False)
    next(stream)
    tracemalloc.start()
    for _ in range(100):
        next(stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < many.nbytes / 10


@pytest.mark.parametrize(
    ("broken", "error", "message"),
    [
        (lambda v: v[:, :5], DataError, "5 dimensions; this model inverts vectors of 16"),
        (lambda v: np.where(np.arange(12)[:, None] == 7, np.nan, v), DataError, "Vector 7 holds NaN"),
        (lambda v: np.where(np.arange(12)[:, None] == 2, np.inf, v), DataError, "Vector 2 holds NaN or inf"),
        (lambda v: v[None], DataError, "table"),
        (lambda v: [[1.0, 2.0], [1.0]], DataError, "different dimensions|2 dimensions"),
        (lambda v: [["a", "b"]], DataError, "not vectors of numbers"),
        (lambda v: 5, DataError, "not a list of vectors"),
        (lambda v: v.astype(np.float64) * 1e300, DataError, "Vector 0 holds NaN or infinity"),
    ],
)
def test_unfit_vectors(inverter: Inverter, vectors: np.ndarray, broken, error, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        inverter.invert(broken(vectors))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "confident"}, "Did you mean 'confidence'"),
        ({"strategy": "magic"}, "The strategies: sequential, euler"),
        ({"share": 0.1}, "no option 'share'"),
        ({"strategy": "euler-remask", "share": 2.0}, "share must be less than 1"),
        ({"strategy": "euler-remask", "share": "much"}, "share must be a number, got 'much'"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"n_best": 0}, "n_best"),
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"num_lengths": 0}, "num_lengths must be at least 1, got 0"),
        ({"guidance": float("nan")}, "guidance"),
        ({"options": {"by": "margin"}, "by": "margin"}, "by is given twice"),
        ({"lengths": 11}, "1 to 10 tokens"),
        ({"lengths": [1, 2]}, "2 lengths for 12 vectors"),
        ({"beginnings": ("The",)}, "1 beginnings for 12 vectors"),
        ({"beginnings": "The cat sat on the mat and then it slept again"}, "the text at most 10"),
        ({"beginnings": "The cat", "lengths": 2}, "has 2 tokens, and the text at most 2"),
        ({"beginnings": "The cat", "strategy": "guided"}, "cannot be told how one begins"),
        ({"lengths": [0] * 12}, "1 to 10"),
    ],
)
def test_wrong_options(inverter: Inverter, vectors: np.ndarray, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        inverter.invert(vectors, **options)


def test_a_shortlist_of_all_words_is_exact(inverter: Inverter, vectors: np.ndarray) -> None:
    words = inverter.denoiser.config.vocabulary
    texts = [[one.text for one in inverter.invert(vectors, shortlist=size)] for size in (0, words)]
    assert texts[0] == texts[1]


def test_what_saves_arithmetic_reaches_the_decoder(inverter: Inverter, vectors: np.ndarray) -> None:
    """With two passes nothing is computed again that could be kept; with more, some scores differ."""
    for steps, equal in ((2, True), (8, False)):
        scores = [
            [one.score for one in inverter.invert(vectors, lengths=8, steps=steps, kv_cache=cached)]
            for cached in (False, True)
        ]
        assert (scores[0] == pytest.approx(scores[1])) is equal


def test_strategy_options_reach_the_strategy(inverter: Inverter, vectors: np.ndarray) -> None:
    none, half = (
        inverter.invert(vectors, strategy="euler-remask", steps=8, lengths=10, share=share)
        for share in (0.0, 0.5)
    )
    assert [result.text for result in none] != [result.text for result in half]


def test_from_pretrained(tokenizer: Tokenizer, encoder: toy.ToyEncoder, tmp_path: Path) -> None:
    model = tiny.checkpoint(tokenizer, encoder.info)
    folder = tiny.save(model, tmp_path / "model")
    vector = encoder.encode(["The cat sees the dog."])[0]
    assert Inverter.from_pretrained(folder).invert(vector) == Inverter(model).invert(vector)
    assert Inverter.from_pretrained(str(folder)).dimension == 16
    with pytest.raises(UsageError, match="no model folder"):
        Inverter.from_pretrained(tmp_path / "nowhere")


def test_without_a_bundled_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("unembed.inverter.BUNDLED", tmp_path / BUNDLED.name)
    with pytest.raises(UnembedError, match=r"No model is bundled[\s\S]*unembed train"):
        Inverter.from_pretrained()


def test_the_encoder_must_be_the_one_of_the_training(
    tokenizer: Tokenizer, encoder: toy.ToyEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unembed.inverter.load_encoder", lambda name, **how: encoder)
    assert Inverter(tiny.checkpoint(tokenizer, encoder.info)).encode(["a"]).shape == (1, 16)
    other = encoder.info.model_copy(update={"digest": "0" * 64})
    with pytest.raises(MismatchError, match="weights differ"):
        Inverter(tiny.checkpoint(tokenizer, other)).encode(["a"])


def test_fitting_vectors_pass_without_a_warning(tokenizer: Tokenizer, encoder: toy.ToyEncoder) -> None:
    known, fresh = np.split(encoder.encode(toy.sentences(400)), [300])
    inverter = Inverter(tiny.checkpoint(tokenizer, encoder.info, fit_to=known))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlausibilityWarning)
        inverter.invert(fresh, steps=1)
        inverter.invert(fresh[0])


@pytest.mark.parametrize("many", [False, True])
def test_vectors_of_another_length_are_told(
    tokenizer: Tokenizer, encoder: toy.ToyEncoder, many: bool
) -> None:
    known = encoder.encode(toy.sentences(300))
    inverter = Inverter(tiny.checkpoint(tokenizer, encoder.info, fit_to=known))
    with pytest.warns(PlausibilityWarning, match="length is about 3, in training it was 1"):
        inverter.invert(known[:40] * 3 if many else known[0] * 3, steps=1)


def test_an_observer_sees_every_step_of_every_strategy(inverter: Inverter, vectors: np.ndarray) -> None:
    for strategy in DECODERS:
        updates: list[Update] = []
        results = inverter.invert(vectors[:5], strategy=strategy, batch_size=1, observe=updates.extend)
        assert {update.row for update in updates} == set(range(5))
        for row, result in enumerate(results):
            mine = [update for update in updates if update.row == row]
            assert mine[0].tokens == (None,) * mine[0].length
            assert result.tokens in [update.tokens for update in mine]
            assert all(update.step <= update.steps for update in mine)


def test_what_an_observer_gives_up_has_no_text(inverter: Inverter, vectors: np.ndarray) -> None:
    def observe(updates: Sequence[Update]) -> list[bool]:
        return [update.row != 1 for update in updates]

    results = inverter.invert(vectors[:3], observe=observe)
    assert [bool(one.text) for one in results] == [True, False, True]
    assert results[0] == inverter.invert(vectors[0])


def test_a_vector_that_is_not_finite_is_recorded_and_the_others_are_inverted(
    inverter: Inverter, vectors: np.ndarray
) -> None:
    spoilt = vectors.copy()
    spoilt[3, 2], spoilt[7, 0] = np.nan, np.inf
    with pytest.raises(DataError, match="Vector 3 holds NaN"):
        inverter.invert(spoilt)
    for size in (1, 4, 64):  # the row is right in any batch, and lengths stay with their vectors
        lengths = [2 + row % 3 for row in range(len(vectors))]
        found = inverter.invert(spoilt, bad_vectors="record", lengths=lengths, batch_size=size)
        whole = inverter.invert(vectors, lengths=lengths)
        assert [row for row, one in enumerate(found) if one.error] == [3, 7]
        assert "NaN" in str(found[3].error)
        assert found[3].text == ""
        assert all(
            a.text == b.text for row, (a, b) in enumerate(zip(found, whole, strict=True)) if row not in (3, 7)
        )


def test_a_configuration_or_its_fields(inverter: Inverter, vectors: np.ndarray) -> None:
    config = InvertConfig(strategy="euler", steps=3, seed=4)
    assert inverter.invert(vectors, config) == inverter.invert(vectors, strategy="euler", steps=3, seed=4)
    other = inverter.invert(vectors, config, seed=5)
    assert other == inverter.invert(vectors, strategy="euler", steps=3, seed=5)
    old = inverter.invert(vectors, batch=2, candidates=2, reuse=True)
    assert old == inverter.invert(vectors, batch_size=2, num_lengths=2, kv_cache=True)


def test_a_round_trip(inverter: Inverter) -> None:
    texts = toy.sentences(3)
    trips = inverter.round_trip(texts)
    vectors = inverter.encode(texts)
    assert [trip.text for trip in trips] == texts
    assert [trip.inversion for trip in trips] == inverter.invert(vectors)
    back = inverter.encode([trip.inversion.text for trip in trips])
    assert [trip.cosine for trip in trips] == pytest.approx((back * vectors).sum(axis=1).tolist(), abs=1e-5)


def test_a_saved_model_gives_the_same_texts(inverter: Inverter, vectors: np.ndarray, tmp_path: Path) -> None:
    folder = inverter.save_pretrained(tmp_path / "model")
    again = Inverter.from_pretrained(folder)
    same = again.invert(vectors, precision="fp32")  # what equality is tested in
    assert [one.text for one in same] == [one.text for one in inverter.invert(vectors)]


def test_known_noise_is_taken_off_before_the_model_reads(inverter: Inverter, vectors: np.ndarray) -> None:
    from unembed.model.wiener import WienerFilter

    filtered = WienerFilter.of(inverter.denoiser.standardise)(torch.from_numpy(vectors[:3]), 0.1).numpy()
    assert np.abs(filtered - vectors[:3]).max() > 1e-3
    found = inverter.invert(vectors[:3], vector_noise=0.1)
    assert [one.text for one in found] == [one.text for one in inverter.invert(filtered, check=False)]
    with pytest.raises(UsageError, match="vector_noise"):
        inverter.invert(vectors[0], vector_noise=-1)
