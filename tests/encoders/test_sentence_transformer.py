"""sentence-transformers models of the named architectures, loaded for real from local folders.

jina-embeddings-v3's own code cannot be had offline: its architecture is stood in for by plain
XLM-RoBERTa, and the way its task and its code are handled by a small model with code of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_models

from unembed.encoders import load_encoder, registry
from unembed.encoders import sentence_transformer as module
from unembed.encoders.registry import ENTRIES
from unembed.errors import DataError, MissingExtraError, UsageError

TEXTS = ["the cat sat", "a dog ran over the road", "日本語", "", "the " * 100]
TinyModel = Callable[[str], Path]


@pytest.mark.parametrize(
    ("architecture", "named"),
    [("qwen3", "qwen3-0.6b"), ("xlm-roberta", "jina-v3"), ("gemma3", "embeddinggemma")],
)
def test_vectors_and_description_are_the_models_own(
    tiny_model: TinyModel, architecture: str, named: str
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = tiny_model(architecture)
    encoder = load_encoder(str(folder), device="cpu")
    assert encoder.info.pooling == ENTRIES[named].pooling
    assert encoder.info.max_tokens == tiny_models.MAX_TOKENS
    assert encoder.info.normalised
    assert encoder.info.name == str(folder)
    reference = SentenceTransformer(str(folder), device="cpu")
    expected = reference.encode_document(TEXTS, batch_size=2, show_progress_bar=False)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-5)


def test_documents_get_the_documents_prompt_and_another_can_be_chosen(tiny_model: TinyModel) -> None:
    folder = str(tiny_model("gemma3"))
    document, query = load_encoder(folder), load_encoder(f"{folder}#query")
    named = load_encoder(f"{folder}#document")
    assert query.info.name == f"{folder}#query"
    assert len({document.info.digest, query.info.digest}) == 2
    np.testing.assert_allclose(document.encode(TEXTS), named.encode(TEXTS), atol=1e-6)
    assert np.abs(document.encode(TEXTS) - query.encode(TEXTS)).max() > 1e-3
    with pytest.raises(UsageError) as caught:
        load_encoder(f"{folder}#nonsense")
    assert "query" in str(caught.value.hint)


def test_digest_follows_what_decides_the_vectors(tiny_model: TinyModel, tmp_path: Path) -> None:
    folder = tiny_model("xlm-roberta")
    copy = tmp_path / "elsewhere"
    shutil.copytree(folder, copy)
    digest = module.digest_folder(folder)
    assert module.digest_folder(copy) == digest
    (copy / "README.md").write_text("changed")
    assert module.digest_folder(copy) == digest
    pooling = next(copy.glob("*_Pooling/config.json"))
    pooling.write_text(pooling.read_text().replace("mean", "max"))
    assert module.digest_folder(copy) != digest


def test_code_of_a_model_runs_only_when_asked_for(tmp_path: Path) -> None:
    folder = str(tiny_models.with_own_code(tmp_path))
    with pytest.raises(UsageError) as caught:
        load_encoder(folder)
    assert "--trust-remote-code" in str(caught.value.hint)
    assert load_encoder(folder, trust_remote_code=True).encode(TEXTS).shape == (len(TEXTS), tiny_models.WIDTH)


def test_jinas_task_reaches_its_code(
    tmp_path: Path, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_models.with_own_code(tmp_path)
    monkeypatch.setattr(module, "hub_folder", lambda repository, mirror: folder)
    passage = load_encoder("jina-v3", trust_remote_code=True)
    assert passage.info.name == "jina-v3#retrieval.passage"
    matching = load_encoder("jina-v3#text-matching", trust_remote_code=True)
    plain = load_encoder(str(tiny_model("xlm-roberta")))
    np.testing.assert_allclose(matching.encode(TEXTS), plain.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(passage.encode(TEXTS), plain.encode(TEXTS)[:, ::-1], atol=1e-5)


def test_jina_is_refused_before_any_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "hub_folder", lambda *args, **kwargs: pytest.fail("looked for a download"))
    with pytest.raises(UsageError, match="jinaai/jina-embeddings-v3"):
        load_encoder("jina-v3")


def test_a_folder_without_pooling_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"modules\.json"):
        load_encoder(str(tmp_path))


def test_pickles_are_refused(tiny_model: TinyModel, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(tiny_model("xlm-roberta"), copy)
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(DataError, match="pickle"):
        load_encoder(str(copy))


def test_a_damaged_folder_is_named(tiny_model: TinyModel, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(tiny_model("xlm-roberta"), copy)
    (copy / "model.safetensors").write_bytes(b"garbage")
    with pytest.raises(DataError, match="does not load"):
        load_encoder(str(copy))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError) as caught:
        load_encoder("owner/model")
    assert "unembed[encoders]" in str(caught.value.hint)


@pytest.mark.registry
def test_fetched_mpnet_is_sentence_transformers_own(
    published: Callable[[str], object], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer

    from unembed.encoders import locations

    encoder = published("mpnet")
    if not locations.is_fetched("mpnet"):
        monkeypatch.setenv("UNEMBED_HOME", str(request.config.cache.mkdir("unembed-home")))
    reference = SentenceTransformer(str(locations.encoder_folder("mpnet")), device="cpu")
    np.testing.assert_allclose(
        encoder.encode(TEXTS[:3]), reference.encode(TEXTS[:3], show_progress_bar=False), atol=1e-5
    )
    entry = registry.ENTRIES["mpnet"]
    assert (encoder.info.dimension, encoder.info.max_tokens) == (entry.dimension, entry.max_tokens)
