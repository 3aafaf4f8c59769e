"""Shards in two rounds, in this process: what a cluster's workers do, without the cluster."""

import pytest

import tiny
import toy
from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.encode_shards import ClusterShards, ShardWorker
from unembed.data.config import EncodeConfig
from unembed.data.encode import encode
from unembed.errors import MismatchError


@pytest.fixture
def encoder(tmp_path):
    tiny.surrogate(tiny.checkpoint(toy.wordpiece(), toy.ToyEncoder().info)).save(tmp_path / "encoder")
    return str(tmp_path / "encoder")


def in_rounds():
    return ClusterShards(ClusterConfig(price_per_hour=1.0), device="cpu", trust_remote_code=False)


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_shards_are_those_of_one_process_also_after_a_kill(texts, encoder, tmp_path, monkeypatch):
    # Cut after five tokens, many texts become equal, in different shards.
    config = EncodeConfig(encoder=encoder, seq_len=5, shard_size=90)
    one = encode(config, texts, tmp_path / "one", device="cpu")
    assert one.manifest.dropped["duplicate"] > 20
    original = ShardWorker.__call__

    def dies(self, job):
        if job["new"] is not None and job["number"] == 2:
            raise KeyboardInterrupt
        return original(self, job)

    monkeypatch.setattr(ShardWorker, "__call__", dies)
    with pytest.raises(KeyboardInterrupt):
        encode(config, texts, tmp_path / "two", device="cpu", make=in_rounds())
    monkeypatch.setattr(ShardWorker, "__call__", original)
    (tmp_path / "two" / "shards" / "00000.json").unlink()  # a hole before what is there
    make = in_rounds()
    encode(config, texts, tmp_path / "two", device="cpu", make=make)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert make.throughput.rows == 400 - 90
    assert make.throughput.dollars_per_million > 0


def test_a_worker_with_another_encoder_makes_nothing(texts, encoder, tmp_path):
    settings = in_rounds()._settings(EncodeConfig(encoder=encoder), texts, tmp_path, "0" * 64)
    with pytest.raises(MismatchError, match="other weights"):
        ShardWorker(settings)


def test_a_forecast_writes_nothing(texts, encoder):
    before = contents(texts)
    assert in_rounds().forecast(EncodeConfig(encoder=encoder, seq_len=8), texts).rows == 400
    assert contents(texts) == before
