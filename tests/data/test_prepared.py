from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unembed.data.prepared import PreparedData
from unembed.data.split import SPLITS
from unembed.errors import DataError, UsageError


def test_counts_and_types(prepared: PreparedData) -> None:
    assert {name: len(prepared.split(name)) for name in SPLITS} == prepared.manifest.counts
    assert sum(prepared.manifest.counts.values()) + sum(prepared.manifest.dropped.values()) == 400
    assert len(prepared.manifest.shards) == 4
    train = prepared.split("train")
    assert train.lengths.dtype == np.uint16
    assert train.tokens([0]).dtype == np.int64
    assert train.vectors([0]).dtype == np.float32
    assert train.vectors([0]).shape == (1, 16)
    files = {path.name for path in (prepared.folder / "shards").glob("00000.*")}
    assert files == {"00000.json"} | {
        f"00000.{array}.npy" for array in ("tokens", "lengths", "vectors", "keys", "languages")
    }
    raw = np.load(prepared.folder / "shards" / "00000.tokens.npy", allow_pickle=False)
    assert raw.dtype == np.uint16
    assert np.load(prepared.folder / "shards" / "00000.vectors.npy").dtype == np.float16


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(data=st.data())
def test_any_choice_of_samples_is_what_each_is_alone(prepared: PreparedData, data: st.DataObject) -> None:
    split = prepared.split("train")
    chosen = data.draw(st.lists(st.integers(0, len(split) - 1), min_size=1, max_size=30))
    tokens, vectors, texts = split.tokens(chosen), split.vectors(chosen), split.texts(chosen)
    assert tokens.shape == (len(chosen), split.lengths[chosen].max())
    for row, index in enumerate(chosen):
        length = int(split.lengths[index])
        assert tokens[row, :length].tolist() == split.tokens([index])[0].tolist()
        assert (tokens[row, length:] == prepared.manifest.tokenizer.pad_id).all()
        np.testing.assert_array_equal(vectors[row], split.vectors([index])[0])
        assert texts[row] == split.texts([index])[0]


def test_nothing_chosen(prepared: PreparedData) -> None:
    split = prepared.split("test")
    assert split.tokens([]).shape == (0, 0)
    assert split.vectors([]).shape == (0, 16)
    assert split.texts([]) == []
    assert split.languages([]) == []


def test_wrong_choices(prepared: PreparedData) -> None:
    split = prepared.split("test")
    for wrong in ([-1], [len(split)], [0.5], [[0]]):
        with pytest.raises(IndexError):
            split.tokens(wrong)
    with pytest.raises(UsageError, match="no split 'dev'"):
        prepared.split("dev")  # type: ignore[arg-type]


def test_the_digest_is_the_folders(prepared: PreparedData) -> None:
    assert PreparedData.open(str(prepared.folder)).digest == prepared.digest
    assert len(prepared.digest) == 64


def test_a_changed_manifest_is_noticed(prepared: PreparedData) -> None:
    path = prepared.folder / "manifest.json"
    path.write_text(path.read_text().replace('"seq_len": 8', '"seq_len": 9'))
    with pytest.raises(DataError, match="does not match its own digest"):
        PreparedData.open(prepared.folder)


def test_other_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        PreparedData.open(tmp_path / "missing")
    with pytest.raises(UsageError, match="holds no data of unembed"):
        PreparedData.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        PreparedData.open(tmp_path)


def test_a_bounded_number_of_shards_is_mapped(
    prepared: PreparedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = prepared.split("train")
    rows = np.arange(len(everything))
    expected = everything.vectors(rows), everything.tokens(rows)
    monkeypatch.setattr("unembed.data.prepared.MAPPED", 2)
    few = prepared.split("train")
    for _ in range(2):
        for wanted, found in zip(expected, (few.vectors(rows), few.tokens(rows)), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert len(few._arrays) == 2  # of eight: vectors and tokens of four shards
