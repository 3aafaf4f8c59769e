"""The fine-tuned map is kept where pairs set aside say that it finds more words, on a toy that can read."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import toy
import unembed
from unembed.adaptation import fit_adapter, map_training
from unembed.adaptation.fit_adapter import adapt
from unembed.adaptation.map_training import train_map
from unembed.adaptation.tuned_map import TunedMap, fit_map, found_words, words_of
from unembed.errors import UsageError
from unembed.model.adapter import ADAPTER, ADAPTER_WEIGHTS
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.ridge import RidgePath
from unembed.model.vocabulary import Vocabulary

DIM, OTHER, ASIDE = 24, 32, 70
TEXTS = toy.sentences(10 * ASIDE, seed=1)
NEW = toy.sentences(150, seed=2)


class Turned(toy.ToyEncoder):
    """The toy's vectors seen from another side, in more dimensions."""

    def __init__(self) -> None:
        super().__init__(dimension=DIM)
        self._turn = np.random.default_rng(5).normal(size=(DIM, OTHER)).astype(np.float32)
        self.info = self.info.model_copy(update={"name": "turned", "dimension": OTHER, "digest": "t" * 64})
        self.seen = 0

    def encode(self, texts, *, batch_tokens: int = 4096):
        self.seen += len(texts)
        return own(texts) @ self._turn


def own(texts) -> np.ndarray:
    return toy.ToyEncoder(dimension=DIM).encode(texts).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model whose lexical head has learnt to read the toy's vectors."""
    tokenizer = toy.wordpiece()
    vocabulary = Vocabulary.from_counts(np.ones(tokenizer.get_vocab_size(), dtype=np.int64))
    config = DenoiserConfig(
        vector_dim=DIM, vocabulary=len(vocabulary), max_length=12, layers=1, length="given",
        lexical_hidden=64, block=BlockConfig(hidden=16, heads=2, ffn=16),
    )  # fmt: skip
    torch.manual_seed(0)
    info = toy.ToyEncoder(dimension=DIM).info
    described = CheckpointConfig(denoiser=config, encoder=info, vector_norm=(1.0, 0.0))
    model = Checkpoint(Denoiser(config), vocabulary, tokenizer, described)
    vectors = torch.from_numpy(own(TEXTS))
    model.denoiser.standardise.fit(vectors)
    present = torch.zeros(len(TEXTS), len(vocabulary))
    for row, words in enumerate(words_of(model, TEXTS)):
        present[row, words] = 1.0
    read = model.denoiser.read(vectors).detach()
    lexical = model.denoiser.lexical
    optimiser = torch.optim.Adam(lexical.parameters(), lr=1e-2)
    for _ in range(120):
        optimiser.zero_grad()
        F.binary_cross_entropy_with_logits(lexical(read), present).backward()
        optimiser.step()
    path = tmp_path_factory.mktemp("model") / "base"
    model.save(path)
    return path


@pytest.fixture
def base(folder: Path) -> Checkpoint:
    return Checkpoint.from_pretrained(folder)


@pytest.fixture(autouse=True)
def same_steps_everywhere(monkeypatch) -> None:
    """A clock that ticks a second at each look, and a rate for a toy."""
    ticks = count()
    monkeypatch.setattr(map_training, "monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr(map_training, "RATE", 5e-3)


def sides(base: Checkpoint, texts=TEXTS) -> tuple[torch.Tensor, torch.Tensor]:
    """The vectors to map, and what the base reads of the same texts."""
    standard = base.denoiser.read(torch.from_numpy(own(texts))).detach()
    return torch.from_numpy(Turned().encode(texts)), standard


def timid(x: torch.Tensor, y: torch.Tensor) -> TunedMap:
    """A closed form that leaves much to be learnt: far too much regularisation, and no gain."""
    path = RidgePath(x, y)
    return TunedMap(path.at(2.0 * path.spread), 1.0, 0.0, None)


def test_it_finds_more_words_of_texts_that_it_never_saw(base):
    x, y = sides(base)
    tuned = timid(x, y)
    change, found = train_map(base, tuned, x, y, TEXTS, minutes=2)
    assert found.kept
    assert found.words_after > found.words_before + 2 * found.standard_error
    assert (found.samples, found.aside) == (120 * map_training.BATCH, ASIDE)
    new, words = sides(base, NEW)[0], words_of(base, NEW)
    after = found_words(base, tuned(new) + change(new - tuned.ridge.mean), words)
    assert after > found_words(base, tuned(new), words) + 0.03


def test_it_does_not_learn_from_the_pairs_that_judge_it(base, monkeypatch):
    x, y = sides(base)
    tuned = timid(x, y)
    monkeypatch.setattr(map_training, "CHECKS", 1)  # so that both stop at the end
    change, _ = train_map(base, tuned, x, y, TEXTS, minutes=1)
    y[-ASIDE:] = 100.0
    again, _ = train_map(base, tuned, x, y, TEXTS, minutes=1)
    assert bool(change.matrix.any())
    assert torch.equal(again.matrix, change.matrix)


def test_the_same_seed_gives_the_same_map_and_the_base_learns_nothing(base):
    x, y = sides(base)
    before = {name: tensor.clone() for name, tensor in base.denoiser.state_dict().items()}
    first, again, other = (
        train_map(base, timid(x, y), x, y, TEXTS, minutes=0.2, seed=seed)[0].matrix for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert all(torch.equal(tensor, before[name]) for name, tensor in base.denoiser.state_dict().items())
    assert all(parameter.grad is None for parameter in base.denoiser.parameters())


def test_a_gain_that_could_be_chance_is_not_kept(base, monkeypatch):
    x, y = sides(base)
    _, found = train_map(base, fit_map(base, x, y, TEXTS), x, y, TEXTS, minutes=0.2)
    assert not found.kept
    monkeypatch.setattr(map_training, "SIGNIFICANT", 1000.0)
    _, found = train_map(base, timid(x, y), x, y, TEXTS, minutes=2)
    assert found.words_after > found.words_before
    assert not found.kept


@pytest.fixture
def fit(folder: Path, tmp_path: Path):
    """`adapt` from a file of sentences, and what it said."""
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    said: list[str] = []

    def run(encoder=None, name="adapter", **more):
        native = toy.ToyEncoder(dimension=DIM)
        settings = {"texts": path, "pairs": 700, "base": folder, "base_encoder": native} | more
        return adapt(encoder or Turned(), tmp_path / name, announce=said.append, **settings), said

    return run


def test_adapt_keeps_it_says_so_and_the_folder_is_no_larger(fit, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_adapter, "fit_map", lambda base, x, y, texts, **_: timid(x, y))
    plain, _ = fit(name="plain")
    model, said = fit(minutes=2)
    found = model.adapter.fine_tuning
    assert plain.adapter.fine_tuning is None
    assert found.kept
    assert any(f"finds {found.words_before:.1%} of the words, fine-tuned" in line for line in said)
    words, vectors = words_of(model.base, NEW), torch.from_numpy(Turned().encode(NEW))
    before, after = (
        found_words(one.base, one.denoiser.read(vectors).detach(), words) for one in (plain, model)
    )
    assert after > before + 0.03
    folder = tmp_path / "adapter"
    assert "fine-tuning | 2 minutes" in (folder / "README.md").read_text(encoding="utf-8")
    sizes = [(tmp_path / name / ADAPTER_WEIGHTS).stat().st_size for name in ("plain", "adapter")]
    assert sizes[0] == sizes[1]
    inverter = unembed.Inverter(Checkpoint.from_pretrained(folder), encoder=Turned())
    guided = inverter.invert(vectors[:2].numpy(), strategy="guided", max_encoder_calls=10)
    assert all(one.encoder_calls <= 10 for one in guided)


def test_adapt_says_where_the_closed_form_stays(fit, monkeypatch):
    plain, _ = fit(name="plain")
    monkeypatch.setattr(map_training, "SIGNIFICANT", 1000.0)
    model, said = fit(minutes=0.2)
    assert not model.adapter.fine_tuning.kept
    assert torch.equal(model.weights.matrix, plain.weights.matrix)
    assert any("the closed form stays" in line for line in said)


def test_a_card_of_before_is_written_anew_unless_somebody_edited_it(fit, tmp_path):
    card = tmp_path / "adapter" / "README.md"
    fit()
    assert "fine-tuning" not in card.read_text(encoding="utf-8")
    fit(minutes=0.1)
    assert "fine-tuning" in card.read_text(encoding="utf-8")
    card.write_text("Mine.", encoding="utf-8")
    (tmp_path / "adapter" / ADAPTER).write_text("{}", encoding="utf-8")  # damaged: replaced
    fit()
    fit(minutes=0.2)
    assert card.read_text(encoding="utf-8") == "Mine."


def test_an_adapter_of_before_is_read(fit, tmp_path):
    fit()
    path = tmp_path / "adapter" / ADAPTER
    described = json.loads(path.read_text(encoding="utf-8"))
    del described["fine_tuning"]
    path.write_text(json.dumps(described), encoding="utf-8")
    assert Checkpoint.from_pretrained(tmp_path / "adapter").config.encoder.name == "turned"


def test_what_cannot_be_trained_is_refused_before_anything_is_embedded(fit):
    encoder = Turned()
    for minutes in (-1.0, float("inf"), float("nan")):
        with pytest.raises(UsageError, match="cannot take"):
            fit(encoder, minutes=minutes)
    with pytest.raises(UsageError, match="too few to fine-tune"):
        fit(encoder, pairs=300, minutes=1)
    assert encoder.seen == 0
