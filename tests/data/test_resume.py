"""`kill -9` for real: a child process dies in the middle, another goes on, and the bytes are the same."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = """
import os, signal, sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
import toy
from unembed.storage import atomic
from unembed.data import collect as collecting, spool
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode

stage, source, output, fatal, delay = sys.argv[1:]
fatal, delay = int(fatal), float(delay)
spool.CHUNK_TEXTS, collecting._BATCH, collecting.FILE_TEXTS = 60, 20, 70

# Every file is written as: write, sync the file, rename, sync the folder. Die at the n-th sync: half of
# these moments are just before a rename, the other half just after one.
count, sync = 0, os.fsync
def deadly(handle):
    global count
    count += 1
    if count == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    sync(handle)
atomic.os.fsync = deadly

class Slow(toy.ToyEncoder):
    def encode(self, texts, *, batch_tokens=4096):
        time.sleep(delay)
        return super().encode(texts)

if stage == "collect":
    collect(CollectConfig(source=(f"en={{source}}",), seed=3), Path(output))
else:
    encode(EncodeConfig(seq_len=8, shard_size=50), Path(source), Path(output), encoder=Slow())
"""


def child(stage: str, source: Path, output: Path, *, fatal: int = 0, delay: float = 0) -> list[str]:
    script = CHILD.format(tests=str(Path(__file__).parent.parent))
    return [sys.executable, "-c", script, stage, str(source), str(output), str(fatal), str(delay)]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves, the lock aside."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def source(stage: str, corpus: Path, texts: Path) -> Path:
    return corpus if stage == "collect" else texts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "fatal"),
    [("collect", moment) for moment in (1, 4, 9, 14, 29, 34, 41)]
    + [("encode", moment) for moment in (2, 3, 6, 13, 15, 16, 40)],
)
def test_a_killed_run_goes_on_and_gives_the_same_bytes(
    stage: str, fatal: int, source: Path, tmp_path: Path
) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    subprocess.run(child(stage, source, whole), check=True)
    died = subprocess.run(child(stage, source, resumed, fatal=fatal), check=False)
    assert died.returncode == -signal.SIGKILL
    assert not (resumed / "manifest.json").exists()
    subprocess.run(child(stage, source, resumed), check=True)
    assert tree(resumed) == tree(whole)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["encode"])
def test_killed_from_outside_again_and_again(stage: str, source: Path, tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    subprocess.run(child(stage, source, whole), check=True)
    for shards in (1, 3, 6):
        # Slow enough that the run cannot finish before it is killed.
        process = subprocess.Popen(child(stage, source, resumed, delay=0.3))
        while len(list((resumed / "shards").glob("*.json"))) < shards:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert len(list((resumed / "shards").glob("*.json"))) >= shards
        assert not (resumed / "manifest.json").exists()
    subprocess.run(child(stage, source, resumed), check=True)
    assert tree(resumed) == tree(whole)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["encode"])
def test_two_runs_at_once_do_not_mix(stage: str, source: Path, tmp_path: Path) -> None:
    first = subprocess.Popen(child(stage, source, tmp_path / "out", delay=0.3))
    try:
        while not (tmp_path / "out" / "plan.json").exists():
            assert first.poll() is None
            time.sleep(0.01)
        second = subprocess.run(
            child(stage, source, tmp_path / "out"), check=False, capture_output=True, text=True
        )
        assert second.returncode != 0
        assert "Another run is writing" in second.stderr
    finally:
        first.kill()
        first.wait()
