"""`unembed.prepare`: both stages in one call, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import toy
import unembed
from unembed.data.config import PrepareConfig
from unembed.data.prepared import PreparedData
from unembed.errors import MismatchError, UsageError

FIELDS = {"seq_len": 8, "validation_share": 0.2, "test_share": 0.2, "shard_size": 100}


def test_one_call_gives_what_the_two_stages_give(
    corpus: Path, prepared: PreparedData, toy_encoder: toy.ToyEncoder, tmp_path: Path
) -> None:
    data = unembed.prepare(f"en={corpus}", tmp_path / "one", encoder=toy_encoder, **FIELDS)
    assert data.digest == prepared.digest
    assert data.manifest.counts == prepared.manifest.counts
    assert data.split("train").texts([0]) == prepared.split("train").texts([0])
    # Again: nothing is left to do. As a whole configuration: the same.
    config = PrepareConfig(source=(f"en={corpus}",), **FIELDS)
    assert unembed.prepare(config, tmp_path / "one", encoder=toy_encoder).digest == data.digest
    with pytest.raises(MismatchError):
        unembed.prepare(config, tmp_path / "one", encoder=toy_encoder, seq_len=7)


def test_a_wrong_field_is_named(corpus: Path, toy_encoder: toy.ToyEncoder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sequence_length") as error:
        unembed.prepare([corpus], tmp_path / "out", encoder=toy_encoder, sequence_length=8)
    assert "seq_len" in str(error.value.hint)
    with pytest.raises(UsageError, match=r"seq_len: .*greater than 0"):
        unembed.prepare([corpus], tmp_path / "out", encoder=toy_encoder, seq_len=0)
