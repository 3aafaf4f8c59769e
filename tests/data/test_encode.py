from pathlib import Path

import numpy as np
import pytest

from toy import LANGUAGES, ToyEncoder, byte_bpe, sentences
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.data.normalise import text_key, text_keys
from unembed.data.prepared import PreparedData
from unembed.data.split import SPLITS, split_labels
from unembed.data.verify import verify
from unembed.errors import DataError, MismatchError, UsageError
from unembed.storage import folder_lock
from unembed.text import tokenise

CONFIG = EncodeConfig(seq_len=8, shard_size=100, validation_share=0.2, test_share=0.2)


def collected(tmp_path: Path, lines: list[str]) -> Path:
    source = tmp_path / "lines.txt"
    source.write_text("\n".join(lines), encoding="utf-8")
    collect(CollectConfig(source=(f"en={source}",)), tmp_path / "collected")
    return tmp_path / "collected"


def everything(data: PreparedData) -> list[str]:
    return [text for name in SPLITS for text in data.split(name).texts(range(len(data.split(name))))]


def test_vectors_are_of_the_text_that_the_tokens_say(prepared: PreparedData, toy_encoder: ToyEncoder) -> None:
    for name in SPLITS:
        split = prepared.split(name)
        every = np.arange(len(split))
        texts = split.texts(every)
        np.testing.assert_array_equal(split.vectors(every), toy_encoder.encode(texts).astype(np.float16))
        rows = zip(split.tokens(every), split.lengths, strict=True)
        assert tokenise(prepared.tokenizer(), texts) == [row[:length].tolist() for row, length in rows]


def test_splits_go_by_the_text_alone(prepared: PreparedData, tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    for code, name in enumerate(SPLITS):
        split = prepared.split(name)
        keys = text_keys(split.texts(range(len(split))))
        assert (split_labels(keys, validation_share=0.2, test_share=0.2) == code).all()
        assert split.keys(range(len(split))).tolist() == keys.tolist()
    # Another corpus, another order, other shards, another encoder: what they share is on the same side.
    other = collected(
        tmp_path, [text.upper() for text in reversed(sentences(400)[100:])] + ["Something else."]
    )
    config = CONFIG.model_copy(update={"shard_size": 37})
    data = encode(config, other, tmp_path / "other", encoder=ToyEncoder(dimension=4, name="other"))
    sides = [
        {
            text_key(text): name
            for name in SPLITS
            for text in each.split(name).texts(range(len(each.split(name))))
        }
        for each in (prepared, data)
    ]
    shared = sides[0].keys() & sides[1].keys()
    assert len(shared) > 100
    assert all(sides[0][key] == sides[1][key] for key in shared)


def test_truncation_makes_duplicates_and_they_go(tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    lines = [f"the cat sees the dog {place}" for place in ("today", "here", "outside")]
    config = EncodeConfig(seq_len=5, shard_size=2)
    data = encode(config, collected(tmp_path, lines), tmp_path / "out", encoder=toy_encoder)
    assert everything(data) == ["the cat sees the dog"]
    assert data.manifest.dropped == {"duplicate": 2}


def test_token_filters(tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    lines = ["cat", "the cat", "the cat sees", "the cat sees the dog"]
    config = EncodeConfig(seq_len=4, min_tokens=2, max_tokens=4)
    data = encode(config, collected(tmp_path, lines), tmp_path / "out", encoder=toy_encoder)
    assert sorted(everything(data)) == ["the cat", "the cat sees"]
    assert data.manifest.dropped == {"too_long": 1, "too_short": 1}


def test_ten_languages(tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    sources = []
    for language, texts in LANGUAGES.items():
        path = tmp_path / f"{language}.txt"
        path.write_text("\n".join(texts), encoding="utf-8")
        sources.append(f"{language}={path}")
    collect(CollectConfig(source=tuple(sources)), tmp_path / "texts")
    byte_bpe().save(str(tmp_path / "tokenizer.json"))
    config = EncodeConfig(tokenizer=str(tmp_path / "tokenizer.json"), shard_size=8, seq_len=64)
    data = encode(config, tmp_path / "texts", tmp_path / "out", encoder=toy_encoder)
    pairs = [
        (language, text)
        for name in SPLITS
        for language, text in zip(
            data.split(name).languages(range(len(data.split(name)))),
            data.split(name).texts(range(len(data.split(name)))),
            strict=True,
        )
    ]
    assert len(pairs) + sum(data.manifest.dropped.values()) == 30
    assert all(any(whole.startswith(text) for whole in LANGUAGES[language]) for language, text in pairs)
    assert set(data.manifest.languages) == set(LANGUAGES)
    assert verify(tmp_path / "out", deep=True).ok


def test_foreign_tokens_that_the_encoder_would_cut_are_dropped(
    tmp_path: Path, toy_encoder: ToyEncoder
) -> None:
    byte_bpe().save(str(tmp_path / "tokenizer.json"))
    toy_encoder.info = toy_encoder.info.model_copy(update={"max_tokens": 5})
    lines = ["the cat sees", "the cat sees the dog at night by the sea"]
    config = EncodeConfig(tokenizer=str(tmp_path), seq_len=64)
    data = encode(config, collected(tmp_path, lines), tmp_path / "out", encoder=toy_encoder)
    assert everything(data) == ["the cat sees"]
    assert data.manifest.dropped == {"too_long_for_encoder": 1}


def test_own_tokens_that_the_encoder_would_cut_are_refused(
    texts: Path, tmp_path: Path, toy_encoder: ToyEncoder
) -> None:
    with pytest.raises(UsageError, match="reads only 128 tokens"):
        encode(EncodeConfig(seq_len=200), texts, tmp_path / "out", encoder=toy_encoder)


@pytest.mark.parametrize(
    "change", [{"seq_len": 9}, {"min_tokens": 2}, {"test_share": 0.1}, {"shard_size": 50}], ids=str
)
def test_a_changed_setting_is_refused_by_name(
    prepared: PreparedData, texts: Path, toy_encoder: ToyEncoder, change: dict[str, object]
) -> None:
    with pytest.raises(MismatchError, match=next(iter(change))):
        encode(CONFIG.model_copy(update=change), texts, prepared.folder, encoder=toy_encoder)
    assert verify(prepared.folder).ok


def test_another_encoder_tokenizer_or_text_is_refused_by_name(
    prepared: PreparedData, texts: Path, toy_encoder: ToyEncoder, tmp_path: Path
) -> None:
    with pytest.raises(MismatchError, match=r"encoder\.digest was"):
        encode(CONFIG, texts, prepared.folder, encoder=ToyEncoder(name="other"))
    byte_bpe().save(str(tmp_path / "tokenizer.json"))
    config = CONFIG.model_copy(update={"tokenizer": str(tmp_path)})
    with pytest.raises(MismatchError, match="tokenizer was"):
        encode(config, texts, prepared.folder, encoder=toy_encoder)
    with pytest.raises(MismatchError, match="texts was"):
        encode(CONFIG, collected(tmp_path, ["a cat"]), prepared.folder, encoder=toy_encoder)
    with pytest.raises(MismatchError, match="already holds collected texts"):
        encode(CONFIG, texts, texts, encoder=toy_encoder)
    assert verify(prepared.folder).ok


def test_running_again_encodes_nothing(prepared: PreparedData, texts: Path, toy_encoder: ToyEncoder) -> None:
    toy_encoder.calls = 0
    again = encode(CONFIG, texts, prepared.folder, encoder=toy_encoder)
    assert toy_encoder.calls == 0
    assert again.digest == prepared.digest


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_shard_is_made_again_and_only_that_one(
    prepared: PreparedData,
    texts: Path,
    toy_encoder: ToyEncoder,
    damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = prepared.folder / "shards" / "00001.vectors.npy"
    before = file.read_bytes()
    if damage == "cut":
        file.write_bytes(before[:-7])
    else:
        file.unlink()
    with pytest.raises(DataError, match=r"00001\.vectors\.npy"):
        PreparedData.open(prepared.folder)
    toy_encoder.calls = 0
    again = encode(CONFIG, texts, prepared.folder, encoder=toy_encoder)
    assert toy_encoder.calls == 1
    assert "00001.vectors.npy" in caplog.text
    assert file.read_bytes() == before
    assert again.digest == prepared.digest


def test_nothing_left(texts: Path, tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    config = EncodeConfig(seq_len=64, min_tokens=60)
    with pytest.raises(DataError, match=r"None of the 400 texts is left \(400 too short\)"):
        encode(config, texts, tmp_path / "out", encoder=toy_encoder)


def test_unfinished_folders_and_wrong_folders_are_named(
    texts: Path, tmp_path: Path, toy_encoder: ToyEncoder
) -> None:
    with pytest.raises(UsageError, match="no folder"):
        encode(CONFIG, tmp_path / "missing", tmp_path / "out", encoder=toy_encoder)
    with pytest.raises(UsageError, match="holds collected texts"):
        PreparedData.open(texts)
    (texts / "manifest.json").unlink()
    with pytest.raises(UsageError, match="not finished"):
        encode(CONFIG, texts, tmp_path / "out", encoder=toy_encoder)
    with folder_lock(tmp_path / "out"), pytest.raises(UsageError, match="no manifest"):
        PreparedData.open(tmp_path / "out")


def test_one_run_at_a_time(texts: Path, tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    with folder_lock(tmp_path / "out"), pytest.raises(UsageError, match="Another run"):
        encode(CONFIG, texts, tmp_path / "out", encoder=toy_encoder)


def test_wrong_shapes_are_refused(texts: Path, tmp_path: Path, toy_encoder: ToyEncoder) -> None:
    toy_encoder.info = toy_encoder.info.model_copy(update={"dimension": 17})
    toy_encoder.encode = lambda texts: np.zeros((len(texts), 16), np.float32)  # type: ignore[method-assign]
    with pytest.raises(DataError, match="shape"):
        encode(CONFIG, texts, tmp_path / "out", encoder=toy_encoder)
