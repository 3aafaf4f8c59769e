"""`unembed invert`, as people type it: the real bundled encoder, a tiny model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

import tiny
from unembed.cli.main import cli
from unembed.cli.round_trip import agreeing
from unembed.encoders import load_encoder
from unembed.errors import UnembedError

TEXTS = ["The cat sat on the mat.", "Snow fell in the night.", "He never came back."]


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return load_encoder().encode(TEXTS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    encoder = load_encoder()
    checkpoint = tiny.checkpoint(encoder.tokenizer(), encoder.info, max_length=8)
    return str(tiny.save(checkpoint, tmp_path_factory.mktemp("model") / "tiny"))


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["invert", *args], input=stdin, catch_exceptions=True)


def rows(result: Result) -> list[dict]:
    assert result.exception is None, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_round_trip(model: str) -> None:
    result = run(TEXTS[0], "-m", model)
    assert result.exception is None, result.exception
    for part in (
        "text       The cat sat on the mat.",
        "recovered",
        "of 6 words agree",
        "cosine",
        "passes",
        " s",
    ):
        assert part in result.stdout


def test_a_known_beginning(model: str, vectors: np.ndarray, tmp_path: Path) -> None:
    [row] = rows(run(TEXTS[0], "-m", model, "--beginning", "the cat", "--length", "5", "--json"))
    assert row["recovered"].startswith("the cat")
    np.save(tmp_path / "v.npy", vectors)
    many = ["--beginning", "snow", "--beginning", "he", "--beginning", "the cat"]
    found = rows(run("--embedding", str(tmp_path / "v.npy"), "-m", model, *many, "--json"))
    assert [one["text"].split()[0] for one in found] == ["snow", "he", "the"]


def test_the_round_trip_as_json(model: str) -> None:
    result = run(*TEXTS, "-m", model, "--json", "--steps", "3", "--n-best", "2", "--length", "5,6,7")
    for text, length, row in zip(TEXTS, (5, 6, 7), rows(result), strict=True):
        assert row["text"] == text
        assert len(row["tokens"]) == length
        assert row["length_known"] is True
        assert -1 <= row["cosine"] <= 1
        assert row["strategy"] == "confidence"
        assert row["steps"] == 3
        assert row["forward_passes"] == 6  # three for each of two drafts
        assert row["seconds"] >= 0
        assert len(row["alternatives"]) <= 1


def test_vectors_need_no_encoder(
    model: str, vectors: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the encoder was loaded")

    monkeypatch.setattr("unembed.inverter.load_encoder", refuse)
    np.save(tmp_path / "v.npy", vectors)
    from_file = rows(run("-e", str(tmp_path / "v.npy"), "-m", model, "--json"))
    lines = "\n".join(json.dumps({"embedding": row}) for row in vectors.astype(float).tolist())
    from_stdin = rows(run("-e", "-", "-m", model, "--json", stdin=lines))
    assert [row["text"] for row in from_file] == [row["text"] for row in from_stdin]
    assert [row["index"] for row in from_file] == [0, 1, 2]
    plain = run("-e", str(tmp_path / "v.npy"), "-m", model)
    assert plain.stdout.splitlines() == [row["text"] for row in from_file]


def test_watch_shows_the_masks_on_stderr(model: str) -> None:
    result = run(TEXTS[0], "-m", model, "--watch", "--length", "4", "--json")
    [row] = rows(result)
    frames = result.stderr.splitlines()
    assert frames[0].count("░") == 4
    assert "░" not in frames[-1]
    assert row["recovered"] in frames[-1]
    assert [frame["text"] for frame in row["trace"]][-1] == row["recovered"]


GUIDED = ("-s", "guided", "--max-encoder-calls", "40")


def test_a_guided_round_trip(model: str) -> None:
    [row] = rows(run(TEXTS[0], "-m", model, *GUIDED, "--json"))
    assert row["strategy"] == "guided"
    assert row["encoder_calls"] == 40
    assert row["cosine"] == pytest.approx(row["guide_cosine"], abs=1e-5)
    assert row["forward_passes"] > 0
    [plain] = rows(run(TEXTS[0], "-m", model, "--json"))
    assert plain["encoder_calls"] == 0
    assert "guide_cosine" not in plain
    assert row["cosine"] >= plain["cosine"]
    shown = run(TEXTS[0], "-m", model, *GUIDED)
    assert "40 encoder calls" in shown.stdout
    assert shown.stderr == ""  # a bar is for a terminal


def test_watch_shows_the_nearest_texts_in_turn(model: str) -> None:
    result = run(TEXTS[0], "-m", model, *GUIDED, "--watch", "--json")
    [row] = rows(result)
    lines = result.stderr.splitlines()
    assert len(lines) == len(row["advances"]) == len(row["trace"]) > 1
    assert lines[0].split()[:2] == ["1", "calls"]
    assert row["recovered"] in lines[-1]
    cosines = [float(line.split()[2]) for line in lines]
    assert cosines == sorted(cosines)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_guided_output(model: str, vectors: np.ndarray, tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "v.npy", vectors)
    args = ("-e", str(tmp_path / "v.npy"), "-m", model, "-o", str(tmp_path / name), "--json")
    [first] = rows(run(*args, *GUIDED))
    assert (first["texts"], first["earlier"]) == (3, 0)
    [again] = rows(run(*args, *GUIDED))
    assert again["earlier"] == 3
    other = run(*args, "-s", "guided", "--max-encoder-calls", "41")
    assert isinstance(other.exception, UnembedError)
    assert "options differ" in other.exception.message
    if name.endswith(".parquet"):
        written = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / name).to_pylist()
    else:
        written = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
    for row in written:
        assert row["encoder_calls"] == 40
        assert 0 < row["cosine"] <= 1
        assert "advances" not in row


class _Pressed:
    """The encoder, during whose second batch of drafts somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self._encoder = load_encoder()
        self.info, self.tokenizer = self._encoder.info, self._encoder.tokenizer
        self._batches = 0

    def encode(self, texts: list[str]) -> np.ndarray:
        self._batches += len(texts) > 5
        if self._batches == 2 and len(texts) > 5:
            os.kill(os.getpid(), signal.SIGINT)
        return self._encoder.encode(texts)


def test_an_interrupted_search_shows_the_best_so_far(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unembed.inverter.load_encoder", lambda *_, **__: _Pressed())
    result = run(TEXTS[0], TEXTS[1], "-m", model, *GUIDED[:2])
    assert result.exit_code == 130
    assert "nearest texts so far" in result.stderr
    assert result.stdout.count("recovered") == 2
    assert "encoder calls" in result.stdout


def test_an_interrupted_search_writes_nothing_half_searched(
    model: str, vectors: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "v.npy", vectors)
    monkeypatch.setattr("unembed.inverter.load_encoder", lambda *_, **__: _Pressed())
    output = tmp_path / "out.jsonl"
    assert run("-e", str(tmp_path / "v.npy"), "-m", model, *GUIDED, "-o", str(output)).exit_code == 1
    assert not output.exists()
    assert output.with_name("out.jsonl.rows").read_bytes() == b""


def test_a_model_without_a_surrogate_says_so(model: str) -> None:
    result = run(TEXTS[0], "-m", model, *GUIDED, "--encoder", "surrogate")
    assert isinstance(result.exception, UnembedError)
    assert "without a surrogate" in result.exception.message


def test_vectors_of_another_encoder_are_told(model: str, vectors: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", vectors * 7)
    result = run("-e", str(tmp_path / "v.npy"), "-m", model)
    assert "Warning: The vectors' length is about 7" in result.stderr
    assert "do not look like those of 'minilm'" in result.stderr
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_output(model: str, vectors: np.ndarray, tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "v.npy", vectors)
    args = ("-e", str(tmp_path / "v.npy"), "-m", model, "-o", str(tmp_path / name), "--json")
    [first] = rows(run(*args))
    assert (first["texts"], first["earlier"]) == (3, 0)
    [again] = rows(run(*args))
    assert (again["texts"], again["earlier"]) == (3, 3)
    other = run(*args, "--seed", "1")
    assert isinstance(other.exception, UnembedError)
    assert "seed differ" in other.exception.message


def test_killed_and_run_again_gives_the_same_file(model: str, tmp_path: Path) -> None:
    """kill -9 in the middle; the second run continues and the file is what one run would have made."""
    many = np.random.default_rng(0).normal(size=(1000, 384)).astype(np.float32)
    np.save(tmp_path / "v.npy", many / np.linalg.norm(many, axis=1, keepdims=True))

    def start(output: Path) -> subprocess.Popen:
        command = [str(Path(sys.executable).with_name("unembed"))]
        args = ["invert", "-e", str(tmp_path / "v.npy"), "-m", model, "-o", str(output)]
        args += ["--steps", "1", "--candidates", "1", "-s", "euler", "--batch", "32"]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command + args, env=env, stderr=subprocess.PIPE)

    broken, whole = tmp_path / "broken.jsonl", tmp_path / "whole.jsonl"
    process = start(broken)
    partial = broken.with_name("broken.jsonl.rows")
    while process.poll() is None and not (partial.exists() and partial.stat().st_size > 100_000):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not broken.exists()
    process = start(broken)
    _, news = process.communicate()
    assert process.returncode == 0, news
    assert b"of them from earlier" in news
    assert start(whole).wait() == 0
    assert broken.read_bytes() == whole.read_bytes()
    assert len(whole.read_bytes().splitlines()) == 1000


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "either a TEXT or --embedding"),
        (["text", "-e", "v.npy"], "either a TEXT or --embedding"),
        (["text", "-o", "out.jsonl"], "--output needs --embedding"),
        (["text", "-s", "magic"], "no decoding strategy 'magic'"),
        (
            ["text", "-s", "euler-remask", "--option", "share=much"],
            "Strategy 'euler-remask': share must be a number, got 'much'",
        ),
        (
            ["text", "-s", "guided", "--option", "beam=x"],
            "Strategy 'guided': beam must be a whole number, got 'x'",
        ),
        (["text", "--option", "share=1"], "no option 'share'"),
        (["text", "--option", "share"], "not NAME=VALUE"),
        (["text", "--steps", "0"], "steps"),
        (["text", "--encoder", "minilm"], "--encoder needs --strategy guided"),
        (["text", "--max-encoder-calls", "5"], "--max-encoder-calls needs --strategy guided"),
        (["text", "-s", "guided", "--option", "beam=0"], "beam must be at least 1"),
        (["text", "-s", "guided", "--encoder", "./nowhere"], "nowhere"),
        (["text", "--length", "four"], "not a number"),
        (["text", "-m", "./nowhere"], "no model folder"),
        (["text", "--length", "99"], "1 to 8 tokens"),
        (["-e", "nowhere.npy"], "no file nowhere.npy"),
    ],
)
def test_mistakes_are_told(model: str, args: list[str], message: str) -> None:
    extra = [] if "-m" in args or not args else ["-m", model]
    result = run(*args, *extra, "--json")
    assert result.exit_code != 0
    told = str(result.exception) + result.output
    assert message in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v[:, :100], "100 dimensions; this model inverts vectors of 384"),
        (lambda v: v * np.nan, "3 of 3 vectors could not be inverted"),
        (lambda v: v[:0], "holds no vectors"),
    ],
)
def test_unfit_files_are_told(model: str, vectors: np.ndarray, tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    np.save(tmp_path / "v.npy", change(vectors))
    result = run("-e", str(tmp_path / "v.npy"), "-m", model)
    assert isinstance(result.exception, UnembedError)
    assert result.exception.exit_code == 4
    assert message in result.exception.message


def test_a_text_that_is_too_long_is_told(model: str) -> None:
    result = run("one two three four five six seven eight nine ten", "-m", model)
    assert "10 tokens, and the model writes at most 8" in result.stderr


@pytest.mark.parametrize(
    ("original", "recovered", "agree", "words"),
    [
        ("The cat sat.", "the cat ran", ["the", "cat"], 3),
        ("a b c", "c b a", 1, 3),
        ("我希望能见到你。", "我能见到他", ["我", "能", "见", "到"], 7),
        ("It doesn't matter", "it doesn't", ["it", "doesn't"], 3),
        ("", "anything", [], 0),
        ("anything", "", [], 1),
    ],
)
def test_agreeing_words(original: str, recovered: str, agree: list[str] | int, words: int) -> None:
    spans, total = agreeing(original, recovered)
    assert total == words
    found = [recovered[first:last] for first, last in spans]
    assert (len(found) if isinstance(agree, int) else found) == agree


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_one_bad_vector_among_many_is_recorded(
    model: str, vectors: np.ndarray, tmp_path: Path, suffix: str
) -> None:
    spoilt = np.repeat(vectors, 3, axis=0)  # 9
    spoilt[4, 7] = np.nan
    np.save(tmp_path / "v.npy", spoilt)
    output = tmp_path / f"out{suffix}"
    command = ("-e", str(tmp_path / "v.npy"), "-m", model, "-o", str(output))
    for _ in range(2):  # the second finds it all done, and says the same
        result = run(*command)
        assert isinstance(result.exception, UnembedError)
        assert result.exception.exit_code == 4
        assert result.exception.message == "1 of 9 vectors could not be inverted; the others were."
    if suffix == ".parquet":
        rows = pyarrow.parquet.read_table(output).to_pylist()
    else:
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["index"] for row in rows] == list(range(9))
    assert [row["index"] for row in rows if row.get("error")] == [4]
    assert "NaN" in rows[4]["error"]
    assert all(row["text"] for row in rows if row["index"] != 4)


def test_options_of_the_strategy_may_be_named_as_those_of_the_inversion(model: str) -> None:
    result = run(TEXTS[0], "-m", model, *GUIDED, "--option", "steps=2", "--steps", "3", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["steps"] == 3


def test_old_flags_are_still_read(model: str) -> None:
    old = run(TEXTS[0], "-m", model, "--json", "--candidates", "2", "--batch", "3", "--reuse")
    new = run(TEXTS[0], "-m", model, "--json", "--num-lengths", "2", "--batch-size", "3", "--kv-cache")
    found = [{**json.loads(one.stdout), "seconds": None} for one in (old, new)]
    assert found[0] == found[1]


def test_a_search_is_not_resumed_with_other_phrases(
    model: str, vectors: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "v.npy", vectors)
    own = tmp_path / "model"
    shutil.copytree(model, own)
    monkeypatch.setattr("unembed.inverter.load_encoder", lambda *_, **__: _Pressed())
    command = ("-e", str(tmp_path / "v.npy"), "-m", str(own), *GUIDED, "-o", str(tmp_path / "out.jsonl"))
    assert run(*command).exit_code == 1  # interrupted
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    counted = CliRunner().invoke(cli, ["phrases", "--model", str(own), "--source", f"en={corpus}"])
    assert counted.exit_code == 0, counted.output
    result = run(*command)
    assert isinstance(result.exception, UnembedError)
    assert "started with other settings: phrases differ" in result.exception.message
