"""From pairs to a model for another encoder, on a toy; and once on the bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from rotated import DIM, OTHER, Rotated

import local_hub
import toy
import unembed
from unembed.adaptation.fit_adapter import adapt, estimate
from unembed.adaptation.tuned_map import ENERGY
from unembed.encoders.saved_vectors import CHUNK
from unembed.errors import DataError, MismatchError, UsageError
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.adapter import ADAPTER, ADAPTER_WEIGHTS
from unembed.model.bundled import BUNDLED
from unembed.model.checkpoint import Checkpoint


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(toy.sentences(600)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def fit(base: Path, texts: Path, tmp_path: Path):
    def run(encoder=None, **more):
        native = toy.ToyEncoder(dimension=DIM)
        settings = {"texts": texts, "pairs": 400, "base": base, "base_encoder": native} | more
        return adapt(encoder or Rotated(), tmp_path / settings.pop("output", "adapter"), **settings)

    return run


def test_an_encoder_that_is_a_linear_map_away_is_read_as_the_bases_own(fit, base):
    model = fit()
    assert model.adapter.fit["pairs"] == 400
    assert model.adapter.fit["explained"] > 0.999
    new = toy.sentences(50, seed=9)
    own = Checkpoint.from_pretrained(base).denoiser.read(
        torch.from_numpy(toy.ToyEncoder(dimension=DIM).encode(new).astype(np.float32))
    )
    read = model.denoiser.read(torch.from_numpy(Rotated().encode(new)))
    assert torch.allclose(read, own, atol=0.05)


def test_where_words_chose_the_map_they_are_what_is_told(fit):
    """The error of such a map says little: with few pairs and many dimensions it exceeds the mean's."""
    told: list[str] = []
    model = fit(pairs=550, announce=told.append)
    assert f"550 pairs: of those set aside, the map finds {model.adapter.fit['words']:.0%}" in told[1]
    fit(output="few", pairs=100, announce=told.append)
    assert any("100 pairs explain 100% of" in line for line in told)


def test_a_blurred_map_is_not_timid(fit):
    """Half of the other encoder's dimensions are lost: what is left speaks as loud as a whole vector."""
    half = Rotated()
    half._turn[:, OTHER // 4 :] = 0.0
    model = fit(half)
    assert model.adapter.fit["explained"] < 0.8
    assert model.adapter.fit["louder"] > 1.05
    new = toy.sentences(200, seed=9)
    read = model.denoiser.read(torch.from_numpy(half.encode(new))) - model.weights.shift
    own = Checkpoint.from_pretrained(model.adapter.base.name).denoiser.read(
        torch.from_numpy(toy.ToyEncoder(dimension=DIM).encode(new).astype(np.float32))
    )
    energy = (own - own.mean(dim=0)).square().mean()
    assert float(read.square().mean() / energy) == pytest.approx(ENERGY, abs=0.15)


def test_without_texts_those_of_the_package_are_embedded(fit, tmp_path):
    encoder = Rotated()
    model = fit(encoder, texts=None, pairs=60)
    assert model.adapter.fit["pairs"] == encoder.seen == 60
    assert not (tmp_path / "adapter" / "pairs" / "texts").exists()


def test_it_is_a_model_like_others_and_only_the_adapter_is_saved(fit, tmp_path):
    model = fit()
    vectors = Rotated().encode(toy.sentences(3, seed=4))
    found = unembed.Inverter(model).invert(vectors)
    again = unembed.Inverter.from_pretrained(tmp_path / "adapter")
    assert again.dimension == OTHER
    assert [one.text for one in again.invert(vectors)] == [one.text for one in found]
    again.save_pretrained(tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [
        "README.md",
        ADAPTER,
        ADAPTER_WEIGHTS,
    ]
    assert "rotated" in (tmp_path / "copy" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(DataError, match="16 dimensions"):
        again.invert(toy.ToyEncoder(dimension=DIM).encode(["The cat sees the bird."]))
    with pytest.raises(UsageError, match="from its base"):
        model.penalising_repeats(1.0)


def test_what_is_pushed_is_the_adapter_alone_and_comes_back(fit, tmp_path, monkeypatch):
    fit()
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    with local_hub.running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        unembed.Inverter.from_pretrained(tmp_path / "adapter").push_to_hub("somebody/adapter")
        assert sorted(hub.repositories["somebody/adapter"]) == ["README.md", ADAPTER, ADAPTER_WEIGHTS]
        back = Checkpoint.from_pretrained("somebody/adapter", cache_dir=tmp_path / "cache")
        assert back.config.encoder.name == "rotated"


def test_a_killed_run_goes_on_with_what_is_not_embedded_yet(fit):
    with pytest.raises(KeyboardInterrupt):
        fit(Rotated(dies_at=CHUNK))
    rest = Rotated()
    fit(rest)
    assert rest.seen == 400 - CHUNK
    with pytest.raises(MismatchError):
        fit(Rotated(), pairs=300)


def test_another_base_or_a_damaged_file_is_refused(fit, base, tmp_path):
    fit()
    folder = tmp_path / "adapter"
    described = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
    described["base"]["digest"] = "0" * 64
    whole = (folder / ADAPTER).read_bytes()
    (folder / ADAPTER).write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(MismatchError, match="another version of its base"):
        Checkpoint.from_pretrained(folder)
    (folder / ADAPTER).write_bytes(whole)
    weights = (folder / ADAPTER_WEIGHTS).read_bytes()
    (folder / ADAPTER_WEIGHTS).write_bytes(weights[:-8])
    with pytest.raises(DataError, match=ADAPTER_WEIGHTS):
        Checkpoint.from_pretrained(folder)
    (folder / ADAPTER).write_text('{"format": 1}', encoding="utf-8")
    with pytest.raises(DataError, match="does not describe an adapter"):
        Checkpoint.from_pretrained(folder)


def test_what_cannot_be_adapted_is_said(fit, base, tmp_path):
    with pytest.raises(UsageError, match="nothing to adapt"):
        fit(toy.ToyEncoder(dimension=DIM))
    with pytest.raises(UsageError, match="pairs of texts and vectors"):
        adapt(None, tmp_path / "none", base=base)
    fit()
    with pytest.raises(UsageError, match="an adapter itself"):
        fit(base=tmp_path / "adapter")


def test_pairs_of_a_vector_store(fit, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    sentences = toy.sentences(300, seed=3)
    rows = zip(sentences, Rotated().encode(sentences).tolist(), strict=True)
    with duckdb.connect(str(tmp_path / "store.duckdb")) as database:
        database.execute("BEGIN; CREATE TABLE notes (page_content VARCHAR, v FLOAT[])")
        database.executemany("INSERT INTO notes VALUES (?, ?)", [*rows, (None, [0.0] * OTHER)])
        database.execute("COMMIT")
    address = f"duckdb:{tmp_path / 'store.duckdb'}#notes"
    model = fit("theirs", texts=None, pairs_from=address, pairs=120)
    assert model.adapter.fit["pairs"] == 120
    assert model.adapter.fit["explained"] > 0.99
    with pytest.raises(UsageError, match="no text field 'body'"):
        fit("theirs", texts=None, pairs_from=address, text_field="body")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_pairs_of_somebody_who_cannot_call_the_encoder(fit, tmp_path, suffix):
    sentences = toy.sentences(300, seed=3)
    vectors = Rotated().encode(sentences)
    vectors[7] = np.nan
    path = tmp_path / f"pairs.{suffix}"
    if suffix == "jsonl":
        records = [{"body": text, "v": row.tolist()} for text, row in zip(sentences, vectors, strict=True)]
        path.write_text("\n".join(map(json.dumps, records)).replace("NaN", "null"), encoding="utf-8")
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"body": sentences, "v": vectors.tolist()}), path)
    model = fit("theirs", texts=None, pairs_from=path, text_field="body")
    assert model.adapter.encoder.name == "theirs"
    assert model.adapter.fit["pairs"] == 299
    assert model.adapter.fit["explained"] > 0.999


def test_too_few_pairs_and_texts_are_refused(fit, tmp_path):
    few = tmp_path / "few.txt"
    few.write_text("\n".join(toy.sentences(20)), encoding="utf-8")
    with pytest.raises(DataError, match="only 20 texts"):
        fit(texts=few)
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "The cat sees the bird.", "v": [1.0, 2.0]}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="1 pairs that can be used"):
        fit("theirs", texts=None, pairs_from=path)


@pytest.mark.slow
def test_the_bundled_model_reads_another_real_encoder(texts, tmp_path):
    """Its own surrogate is an encoder with other weights, and at hand without a download."""
    path = tmp_path / "english.txt"
    path.write_text("\n".join(toy.sentences(400, seed=2)), encoding="utf-8")
    encoder = unembed.load_encoder(str(BUNDLED / "surrogate"))
    model = adapt(encoder, tmp_path / "out", texts=path, pairs=300)
    assert isinstance(model, AdaptedCheckpoint)
    assert model.has_surrogate
    inverter = unembed.Inverter(model, encoder=encoder)
    [trip] = inverter.round_trip(["The cat sees the river again."])
    assert trip.cosine > 0.5
    found = inverter.invert(trip.vector, strategy="guided", max_encoder_calls=30)
    assert found.encoder_calls <= 30
    assert found.cosine >= 0.5
    assert estimate(path, 300)["texts"] == 300


def test_known_noise_is_the_bases_business_alone(fit):
    """How another encoder's vectors are spread is not in an adapter."""
    vectors = Rotated().encode(toy.sentences(2, seed=4))
    with pytest.raises(UsageError, match="fit the adapter on noisy vectors"):
        unembed.Inverter(fit()).invert(vectors, vector_noise=0.1)
