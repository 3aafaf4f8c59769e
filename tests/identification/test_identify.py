"""Which encoder: known, rounded, cut, mixed, with wrong texts, and of nothing known."""

from __future__ import annotations

import numpy as np
import pytest
from varied import SENTENCES

import toy
from unembed.encoders import load_encoder
from unembed.errors import DataError, UsageError
from unembed.identification import Identification, Verdict, identify
from unembed.identification.encoder_statistics import read_statistics
from unembed.model.bundled import BUNDLED

FEW = SENTENCES[:16]


def says(found: Identification, name: str) -> str:
    return " ".join(one.says for one in found.evidence if one.name == name)


def test_statistics_alone_name_the_bundled_encoder(vectors) -> None:
    found = identify(vectors)
    assert (found.verdict, found.encoder) == (Verdict.LIKELY, "minilm")
    assert found.normalised
    assert found.rounding is None
    assert found.compared == 0
    assert found.confidence > 0.9
    assert "wrong" in found.derived


def test_one_vector_is_enough_for_a_guess_that_says_how_sure_it_is(vectors) -> None:
    found = identify(vectors[:1])
    assert found.encoder == "minilm"
    assert 0.5 < found.confidence < 1


def test_texts_identify(vectors, minilm) -> None:
    found = identify(vectors, SENTENCES, encoders=[minilm])
    assert (found.verdict, found.encoder, found.compared) == (Verdict.IDENTIFIED, "minilm", 32)
    [candidate] = found.candidates
    assert candidate.share == 1
    assert candidate.cosine == pytest.approx(1, abs=1e-4)
    assert candidate.preparation is None


def test_rows_without_text_are_passed_over(vectors, minilm) -> None:
    texts = [text if row % 2 else None for row, text in enumerate(SENTENCES)]
    found = identify(vectors, texts, encoders=[minilm])
    assert (found.verdict, found.compared, found.rows) == (Verdict.IDENTIFIED, 24, 48)


def test_a_rotation_is_not_identified(rotated, minilm) -> None:
    """Every angle and length is MiniLM's: only the space is another."""
    for texts in (None, SENTENCES):
        found = identify(rotated, texts, encoders=[minilm])
        assert (found.verdict, found.encoder, found.confidence) == (Verdict.UNKNOWN, None, 0.0)
        assert not found.claimed


@pytest.mark.parametrize("seed", range(3))
def test_random_vectors_and_shuffled_numbers_are_unknown(vectors, seed: int) -> None:
    random = np.random.default_rng(seed)
    assert identify(random.normal(size=(40, 384))).verdict is Verdict.UNKNOWN
    assert identify(vectors[:, random.permutation(384)]).verdict is Verdict.UNKNOWN
    assert identify(random.normal(size=(40, 1000))).verdict is Verdict.UNKNOWN


def test_an_imitation_is_near_and_not_identified(minilm) -> None:
    """The surrogate was trained to give MiniLM's vectors: a relative, not the same."""
    vectors = load_encoder(str(BUNDLED / "surrogate")).encode(FEW)
    found = identify(vectors, FEW, encoders=[minilm])
    assert (found.verdict, found.encoder) == (Verdict.LIKELY, "minilm")
    assert "relative" in says(found, "remark")


def test_a_distant_relative_is_not_named(vectors, rotated, minilm) -> None:
    """Somewhat nearer to their own texts than to others: as of a network with a common ancestor."""
    found = identify(0.4 * vectors + rotated, SENTENCES, encoders=[minilm], statistics=[])
    assert found.verdict is Verdict.UNKNOWN


def test_raw_and_rounded_vectors(vectors, minilm) -> None:
    raw = identify(vectors * np.linspace(2, 9, 48)[:, None], SENTENCES, encoders=[minilm])
    assert (raw.verdict, raw.normalised) == (Verdict.IDENTIFIED, False)
    for kind, rounded in {
        "int8": np.round(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127),
        "float16": vectors.astype(np.float16),
    }.items():
        found = identify(rounded, SENTENCES, encoders=[minilm])
        assert (found.verdict, found.rounding) == (Verdict.IDENTIFIED, kind)
    assert identify(np.sign(vectors)).verdict is Verdict.UNKNOWN


def test_cut_vectors(vectors, minilm) -> None:
    cut = vectors[:, :256] / np.linalg.norm(vectors[:, :256], axis=1, keepdims=True)
    found = identify(cut, SENTENCES, encoders=[minilm])
    assert (found.verdict, found.candidates[0].truncated_from) == (Verdict.IDENTIFIED, 384)
    alone = identify(cut)
    assert (alone.verdict, alone.encoder, alone.candidates[0].truncated_from) == (
        Verdict.LIKELY,
        "minilm",
        384,
    )


def test_a_prefix_is_found(minilm) -> None:
    vectors = minilm.encode([f"search_document: {text}" for text in FEW])
    found = identify(vectors, FEW, encoders=[minilm])
    assert (found.verdict, found.candidates[0].preparation) == (
        Verdict.IDENTIFIED,
        "prefix 'search_document: '",
    )


def test_an_unknown_prefix_is_near_and_not_identified(minilm) -> None:
    vectors = minilm.encode([f"Note of the meeting: {text}" for text in FEW])
    found = identify(vectors, FEW, encoders=[minilm])
    assert (found.verdict, found.encoder) == (Verdict.LIKELY, "minilm")
    assert "unknown way" in says(found, "remark")


def test_cut_texts_are_found(minilm) -> None:
    long = [" ".join(SENTENCES[start : start + 8]) for start in range(0, 48, 8)]
    found = identify(minilm.encode([text[:256] for text in long]), long, encoders=[minilm])
    assert (found.verdict, found.candidates[0].preparation) == (
        Verdict.IDENTIFIED,
        "cut after 256 characters",
    )
    tokenizer = minilm.tokenizer()
    tokenizer.enable_truncation(64)
    ends = [max(end for _, end in tokenizer.encode(text).offsets) for text in long]
    vectors = minilm.encode([text[:end] for text, end in zip(long, ends, strict=True)])
    found = identify(vectors, long, encoders=[minilm])
    assert (found.verdict, found.candidates[0].preparation) == (Verdict.IDENTIFIED, "cut after 64 tokens")


def test_mixed_with_something_unknown(vectors, rotated, minilm) -> None:
    mixed = np.concatenate([vectors[:30], rotated[30:]])
    for texts in (None, SENTENCES):
        found = identify(mixed, texts, encoders=[minilm], tries=48)
        assert (found.verdict, found.encoder) == (Verdict.MIXED, "minilm")
        assert found.candidates[0].share == pytest.approx(30 / 48)


def test_mixed_of_two_encoders(vectors, minilm) -> None:
    other = toy.ToyEncoder(dimension=384, name="toy")
    mixed = np.concatenate([vectors[:24], other.encode(SENTENCES[24:])])
    found = identify(mixed, SENTENCES, encoders=[minilm, other], tries=48)
    assert found.verdict is Verdict.MIXED
    assert {one.encoder: one.share for one in found.candidates} == {"minilm": 0.5, "toy": 0.5}


def test_two_clouds_are_two_encoders_that_nobody_knows(rotated) -> None:
    """Vectors that all lean to one side, half of them to another: as of two encoders like e5."""
    sides = np.random.default_rng(1).normal(size=(2, 384))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    leaning = np.concatenate([rotated[:24] + 2 * sides[0], rotated[24:] + 2 * sides[1]])
    found = identify(leaning)
    assert (found.verdict, found.encoder) == (Verdict.MIXED, None)
    assert "two clouds" in says(found, "remark")
    assert identify(rotated + 2 * sides[0]).verdict is Verdict.UNKNOWN


def test_texts_that_belong_to_other_rows(vectors, minilm) -> None:
    found = identify(vectors[:16], FEW[1:] + FEW[:1], encoders=[minilm])
    assert (found.verdict, found.encoder) == (Verdict.WRONG_TEXTS, "minilm")


def test_texts_that_belong_to_no_row(vectors, minilm) -> None:
    found = identify(vectors[:16], toy.sentences(16), encoders=[minilm])
    assert (found.verdict, found.encoder) == (Verdict.WRONG_TEXTS, "minilm")
    assert "not near their texts" in says(found, "remark")


def test_some_texts_changed_since(vectors, minilm) -> None:
    texts = [*SENTENCES[:30], *toy.sentences(18)]
    found = identify(vectors, texts, encoders=[minilm], tries=48)
    assert found.verdict is Verdict.WRONG_TEXTS
    assert "18 of 48" in says(found, "remark")


def test_metadata_is_compared(vectors) -> None:
    as_well = identify(vectors, metadata={"model": "sentence-transformers/all-MiniLM-L6-v2"})
    assert "as well" in says(as_well, "metadata")
    other = identify(vectors, metadata={"embedding": "all-mpnet-base-v2"})
    assert "does not fit" in says(other, "metadata")
    for nothing in ("today 3", "intfloat/multilingual-e5-small"):
        assert says(identify(vectors, metadata={"said": nothing}), "metadata") == ""


def test_zero_and_nan_rows_are_left_out(vectors) -> None:
    damaged = vectors.copy()
    damaged[0], damaged[1, 3] = 0, np.nan
    found = identify(damaged)
    assert (found.encoder, found.rows) == ("minilm", 46)
    assert "2 vectors" in says(found, "unusable")
    with pytest.raises(DataError, match="None of the vectors"):
        identify(np.zeros((3, 384)))


def test_an_encoder_that_is_not_among_the_known_is_not_taken_for_another(vectors) -> None:
    others = [one for one in read_statistics() if one.name != "minilm"]
    assert others
    assert identify(vectors, statistics=others).verdict is Verdict.UNKNOWN


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="2 texts for 3 vectors"):
        identify(np.ones((3, 4)), ["a", "b"])
    with pytest.raises(DataError, match="table"):
        identify(np.ones(4))
    with pytest.raises(UsageError, match="At least one text"):
        identify(np.ones((3, 4)), tries=0)
