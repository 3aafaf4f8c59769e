"""A surrogate learns an encoder's vectors from the data alone, resumes exactly, and is an encoder itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import toy
from unembed.data.config import EncodeConfig
from unembed.data.encode import encode
from unembed.data.prepared import PreparedData
from unembed.encoders import load_encoder
from unembed.encoders.surrogate_encoder import CONFIG, WEIGHTS, load_surrogate
from unembed.errors import DataError, MismatchError, UsageError
from unembed.training import surrogate_training
from unembed.training.surrogate_config import SurrogateTrainConfig
from unembed.training.surrogate_training import train_surrogate, validate

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def config(toy_data: Path, tmp_path: Path) -> SurrogateTrainConfig:
    return SurrogateTrainConfig(
        data=(toy_data,), output=tmp_path / "run", hidden=32, layers=1, heads=2, ffn=64, max_tokens=16,
        batch=64, groups=4, steps=60, warmup=5, learning_rate=5e-3, ema=0.9,
        log_every=1, validate_every=30, save_every=20, precision="fp32",
    )  # fmt: skip


def test_it_comes_near_to_texts_that_it_has_not_seen(config: SurrogateTrainConfig, toy_data: Path) -> None:
    surrogate = train_surrogate(config.model_copy(update={"steps": 200}))
    test = PreparedData.open(toy_data).split("test")
    places = np.arange(len(test))
    vectors, truth = surrogate.encode(test.texts(places)), test.vectors(places)
    truth = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    own, others = (
        (vectors * truth).sum(axis=1).mean(),
        (vectors * np.roll(truth, 1, axis=0)).sum(axis=1).mean(),
    )
    assert own > 0.8
    assert own > others + 0.3


def test_stopped_and_resumed_it_ends_with_the_same_weights(
    config: SurrogateTrainConfig, tmp_path: Path
) -> None:
    whole = train_surrogate(config)

    class Killed(Exception):
        pass

    def kill(kind: str, progress: object, figures: object) -> None:
        if progress.step == 33:  # type: ignore[attr-defined]
            raise Killed

    other = config.model_copy(update={"output": tmp_path / "other"})
    with pytest.raises(Killed):
        train_surrogate(other, kill)
    resumed = train_surrogate(other)
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, resumed.network.state_dict()[name]), name


def test_another_configuration_is_refused(config: SurrogateTrainConfig) -> None:
    train_surrogate(config.model_copy(update={"steps": 20}))
    with pytest.raises(MismatchError, match="hidden"):
        train_surrogate(config.model_copy(update={"steps": 20, "hidden": 64}))


def test_the_folder_is_an_encoder_by_its_path(config: SurrogateTrainConfig) -> None:
    trained = train_surrogate(config.model_copy(update={"steps": 20}))
    folder = config.output / "latest"
    loaded = load_encoder(str(folder))
    texts = ["the cat sees the dog", "the dog", ""]
    assert loaded.encode(texts).shape == (3, 64)
    np.testing.assert_allclose(loaded.encode(texts), trained.encode(texts), atol=2e-2)  # stored as float16
    assert load_encoder(loaded.info.name).info == loaded.info


@pytest.mark.parametrize("damage", ["truncated", "missing", "other config"])
def test_a_damaged_folder_is_a_clear_error(config: SurrogateTrainConfig, damage: str) -> None:
    train_surrogate(config.model_copy(update={"steps": 20}))
    folder = config.output / "latest"
    weights = folder / WEIGHTS
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "missing":
        weights.unlink()
    else:
        described = json.loads((folder / CONFIG).read_text())
        described["network"]["hidden_size"] = 48
        (folder / CONFIG).write_text(json.dumps(described))
    with pytest.raises(DataError):
        load_surrogate(folder)


def test_two_encoders_vectors_do_not_mix(
    config: SurrogateTrainConfig, toy_data: Path, tmp_path: Path
) -> None:
    other = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    other.info = other.info.model_copy(update={"digest": "1" * 64})
    settings = EncodeConfig(seq_len=16, validation_share=0.05, test_share=0.05)
    encode(settings, toy_data.parent / "texts", tmp_path / "other", encoder=other)
    with pytest.raises(MismatchError, match="another encoder"):
        train_surrogate(config.model_copy(update={"data": (toy_data, tmp_path / "other")}))


def test_it_goes_on_from_another_surrogate(config: SurrogateTrainConfig, tmp_path: Path) -> None:
    train_surrogate(config)
    more = {"start": str(config.output / "latest"), "output": tmp_path / "more", "steps": 1}
    more["learning_rate"] = 1e-9  # nothing is learnt: only what it began with shows
    seen: dict[str, float] = {}
    train_surrogate(
        config.model_copy(update=more), lambda kind, _, figures: seen.update({kind: figures["cosine"]})
    )
    log = [json.loads(line) for line in (config.output / "log.jsonl").read_text().splitlines()]
    before = [line["cosine"] for line in log if line["kind"] == "validation"][-1]
    assert seen["validation"] == pytest.approx(before, abs=0.01)


def test_a_start_is_recorded_by_its_digest(config: SurrogateTrainConfig, tmp_path: Path) -> None:
    """Not by its place: what is published names no folder of the machine where it was trained."""
    train_surrogate(config.model_copy(update={"steps": 1}))
    more = {"start": str(config.output / "latest"), "output": tmp_path / "more", "steps": 1}
    train_surrogate(config.model_copy(update=more))
    first, second = (
        load_surrogate(folder / "latest").config for folder in (config.output, tmp_path / "more")
    )
    assert second.training["config"]["start"] == first.digests[WEIGHTS]
    assert str(tmp_path) not in second.model_dump_json()


def test_a_surrogate_of_another_shape_is_no_start(config: SurrogateTrainConfig, tmp_path: Path) -> None:
    train_surrogate(config.model_copy(update={"steps": 1}))
    other = {"start": str(config.output / "latest"), "output": tmp_path / "more", "hidden": 16}
    with pytest.raises(MismatchError, match="another shape") as caught:
        train_surrogate(config.model_copy(update=other))
    assert "--hidden 32 --layers 1 --heads 2 --ffn 64 --max-tokens 16" in str(caught.value.hint)


def test_it_starts_from_what_the_encoder_says_of_each_token(
    config: SurrogateTrainConfig, toy_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens that the encoder finds near lie near from the first step on, in fewer directions too."""
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    monkeypatch.setattr(surrogate_training, "load_encoder", lambda name: encoder)
    tokenizer = PreparedData.open(toy_data).tokenizer()
    encoder.info = PreparedData.open(toy_data).manifest.encoder
    update = {"start": "encoder", "steps": 1, "learning_rate": 1e-12}
    words = train_surrogate(config.model_copy(update=update)).network.bert.words.weight  # [V, 32]
    tokens = [tokenizer.decode([row]).strip() for row in range(len(words))]
    rows = [row for row, text in enumerate(tokens) if text]
    theirs = encoder.encode([tokens[row] for row in rows])
    theirs = theirs - theirs.mean(axis=0)
    near = [np.corrcoef(one @ one.T)[np.triu_indices(len(rows), 1)] for one in (theirs, words[rows].numpy())]
    assert np.corrcoef(*near)[0, 1] > 0.8


def test_a_start_from_another_encoder_than_the_datas_is_refused(
    config: SurrogateTrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    other.info = other.info.model_copy(update={"digest": "1" * 64})
    monkeypatch.setattr(surrogate_training, "load_encoder", lambda name: other)
    with pytest.raises(MismatchError, match="not the one that made the data"):
        train_surrogate(config.model_copy(update={"start": "encoder"}))


def test_a_network_wider_than_the_vectors_cannot_start_from_them(
    config: SurrogateTrainConfig, toy_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    encoder.info = PreparedData.open(toy_data).manifest.encoder
    monkeypatch.setattr(surrogate_training, "load_encoder", lambda name: encoder)
    with pytest.raises(UsageError, match="numbers; the network is 128 wide"):
        train_surrogate(config.model_copy(update={"start": "encoder", "hidden": 128}))


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_a_deeper_surrogate_starts_as_the_same_function(
    config: SurrogateTrainConfig, tmp_path: Path, layers: int
) -> None:
    trained = train_surrogate(config.model_copy(update={"layers": layers}))
    texts = ["the cat sees the dog", "the dog", "a bird"]
    for more in (layers, layers + 1, 2 * layers + 1):
        changed = {"start": str(config.output / "latest"), "layers": more, "output": tmp_path / str(more)}
        # So low a rate learns nothing: what is saved is what it started from.
        deeper = train_surrogate(config.model_copy(update=changed | {"steps": 1, "learning_rate": 1e-12}))
        assert len(deeper.network.bert.blocks) == more
        np.testing.assert_allclose(deeper.encode(texts), trained.encode(texts), atol=2e-2)


def test_fewer_blocks_than_its_start_are_refused(config: SurrogateTrainConfig, tmp_path: Path) -> None:
    train_surrogate(config.model_copy(update={"layers": 2, "steps": 1}))
    other = {"start": str(config.output / "latest"), "output": tmp_path / "less"}
    with pytest.raises(MismatchError, match="another shape"):
        train_surrogate(config.model_copy(update=other))


def test_validation_takes_texts_of_every_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders lie one behind the other: the first texts would all be of the first."""
    monkeypatch.setattr("unembed.training.surrogate_training.VALIDATE", 10)
    seen: list[int] = []

    class Texts:
        lengths = np.full(100, 3)

        def __len__(self) -> int:
            return len(self.lengths)

        def tokens(self, places: np.ndarray) -> np.ndarray:
            seen.extend(places.tolist())
            return np.zeros((len(places), 3), dtype=np.int64)

        def vectors(self, places: np.ndarray) -> np.ndarray:
            return np.ones((len(places), 2), dtype=np.float32)

    def network(ids: torch.Tensor, runs: list[object]) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.ones(len(seen), 2))

    assert validate(network, Texts()) == pytest.approx(1.0)
    assert len(set(seen)) == 10
    assert min(seen) < 10
    assert max(seen) >= 90
