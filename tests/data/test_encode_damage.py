"""What goes wrong while encoding is named, and nothing else is lost."""

import errno
from pathlib import Path

import numpy as np
import pytest

from toy import ToyEncoder, sentences
from unembed.data.collect import collect
from unembed.data.collected import CollectedTexts
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.errors import DataError, UnavailableError
from unembed.storage import atomic

CONFIG = EncodeConfig(seq_len=8, shard_size=100)


class Spoiled(ToyEncoder):
    """Gives a bad vector, or an error, for one text."""

    spoil: float | None = float("nan")

    def encode(self, texts: list[str], *, batch_tokens: int = 4096) -> np.ndarray:
        vectors = super().encode(texts)
        for row, text in enumerate(texts):
            if "spoiled" in text:
                if self.spoil is None:
                    raise DataError(f"Something is wrong with text {row}.")
                vectors[row, 3] = self.spoil
        return vectors


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (float("nan"), "NaN or infinity"),
        (float("inf"), "NaN or infinity"),
        (1e6, "float16"),
        (None, "Something is wrong"),
    ],
)
def test_a_bad_vector_is_named_and_nothing_else_is_lost(
    tmp_path: Path, spoil: float | None, message: str
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join([*sentences(150), "The spoiled cat sees the spoiled dog."]), encoding="utf-8")
    source = tmp_path / "collected"
    collect(CollectConfig(source=(f"en={lines}",)), source)
    everything = enumerate(CollectedTexts.open(source))
    number = next(place for place, (text, _) in everything if "spoiled" in text)
    encoder = Spoiled()
    encoder.spoil = spoil
    config = EncodeConfig(shard_size=25)
    with pytest.raises(DataError, match=message) as error:
        encode(config, source, tmp_path / "out", encoder=encoder)
    assert f"Text {number} (shard {number // 25:05d})" in error.value.message
    assert len(list((tmp_path / "out" / "shards").glob("*.json"))) == number // 25
    # An encoder that does better goes on from there.
    healed = encode(config, source, tmp_path / "out", encoder=ToyEncoder())
    whole = encode(config, source, tmp_path / "whole", encoder=ToyEncoder())
    assert healed.digest == whole.digest


class FullDisk(ToyEncoder):
    """Fills the disk, as far as one file is concerned, before the third shard is written."""

    output: Path

    def encode(self, texts: list[str], *, batch_tokens: int = 4096) -> np.ndarray:
        if self.calls == 2:
            (self.output / "shards" / "00002.vectors.npy.partial").symlink_to("/dev/full")
        return super().encode(texts)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_named_and_nothing_else_is_lost(texts: Path, tmp_path: Path) -> None:
    encoder = FullDisk()
    encoder.output = tmp_path / "out"
    with pytest.raises(UnavailableError, match=r"disk is full.*00002\.vectors\.npy") as error:
        encode(CONFIG, texts, tmp_path / "out", encoder=encoder)
    assert isinstance(error.value.__cause__, OSError)
    assert error.value.__cause__.errno == errno.ENOSPC
    assert not list((tmp_path / "out").rglob("*.partial"))
    assert len(list((tmp_path / "out" / "shards").glob("*.json"))) == 2
    after = encode(CONFIG, texts, tmp_path / "out", encoder=ToyEncoder())
    assert after.digest == encode(CONFIG, texts, tmp_path / "whole", encoder=ToyEncoder()).digest


def test_ctrl_c_leaves_no_half_written_file(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = iter(range(100))
    real = atomic.os.fsync

    def interrupted(handle: int) -> None:
        if next(syncs) == 12:
            raise KeyboardInterrupt
        real(handle)

    monkeypatch.setattr(atomic.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        encode(CONFIG, texts, tmp_path / "out", encoder=ToyEncoder())
    assert not list((tmp_path / "out").rglob("*.partial"))
    monkeypatch.undo()
    after = encode(CONFIG, texts, tmp_path / "out", encoder=ToyEncoder())
    assert after.digest == encode(CONFIG, texts, tmp_path / "whole", encoder=ToyEncoder()).digest
