"""Reading BEIR folders and judged pairs; embedding them once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unembed.encoders.base import EncoderInfo
from unembed.errors import DataError, UsageError
from unembed.retrieval.beir_folder import read_beir
from unembed.retrieval.embedded_set import embed_set, embed_sts
from unembed.retrieval.sts_pairs import read_sts, spearman, spearman_figure


class Letters:
    """Counts letters; and how often it is asked."""

    info = EncoderInfo(
        name="letters", dimension=26, pooling="none", max_tokens=None, licence="none", normalised=False,
        source="here", digest="letters",
    )  # fmt: skip
    calls = 0

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 0) -> NDArray[np.float32]:
        self.calls += len(texts)
        return np.array([[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts], dtype=np.float32)

    def tokenizer(self) -> None:
        raise NotImplementedError


def write(folder: Path, *, qrels: str = "query-id\tcorpus-id\tscore\nq1\tb\t2\nq1\ta\t0\nq2\ta\t1\n") -> Path:
    corpus = [{"_id": "a", "title": "Apple", "text": "pie"}, {"_id": "b", "title": "", "text": "zebra zoo"}]
    corpus.append({"_id": "q2", "text": "apple pies"})  # the very text of a query
    queries = [{"_id": "q1", "text": "zoo"}, {"_id": "q2", "text": "apple pies"}, {"_id": "q3", "text": "x"}]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, corpus)).encode()))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def test_a_folder_is_read_embedded_once_and_scored(tmp_path: Path) -> None:
    judged = read_beir(write(tmp_path / "toy"))
    assert (judged.name, judged.documents[0]) == ("toy", "Apple pie")
    assert judged.query_ids == ("q1", "q2")  # nobody judged q3
    assert judged.relevant == ({1: 2}, {0: 1})
    encoder = Letters()
    found = embed_set(judged, encoder, tmp_path / "vectors")
    again = embed_set(judged, encoder, tmp_path / "vectors")
    assert encoder.calls == 5
    assert np.array_equal(found.queries, again.queries)
    # Without the rule that a query is not its own answer, the second would rank itself first.
    assert found.scores(found.documents, found.queries) == {"ndcg": [1.0, 1.0], "recall": [1.0, 1.0]}


@pytest.mark.parametrize("qrels", ["q1\tb\tmany\n", "query-id\tcorpus-id\tscore\nq1\tnowhere\t1\n", ""])
def test_bad_judgements_are_named(tmp_path: Path, qrels: str) -> None:
    with pytest.raises(DataError, match=r"qrels.tsv|no query"):
        read_beir(write(tmp_path / "toy", qrels=qrels + "x" if "many" in qrels else qrels))


def test_a_missing_folder_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_beir(tmp_path / "nowhere")
    assert "corpus.jsonl" in (caught.value.hint or "")
    with pytest.raises(DataError, match=r"no corpus.jsonl"):
        read_beir(tmp_path)


def test_spearman_with_ties_and_its_interval(tmp_path: Path) -> None:
    # scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4]) = 0.9486832980505139
    assert spearman(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.9486832980505139)
    assert spearman(np.ones(4), np.arange(4.0)) == 0.0
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    figure = spearman_figure(x, x + random.normal(size=200), resamples=200)
    assert figure.n == 200
    assert (figure.low or 1) < figure.value < (figure.high or 0)

    path = tmp_path / "stsb" / "test.tsv"
    path.parent.mkdir()
    path.write_text('5.0\tA "cat"\tA cat\n0.0\tdog\tzoo\n')
    judged = read_sts(path)
    assert (judged.name, judged.scores, judged.first[0]) == ("stsb test", (5.0, 0.0), 'A "cat"')
    assert embed_sts(judged, Letters(), tmp_path / "vectors").second.shape == (2, 26)
    path.write_text("5.0\tonly one\n")
    with pytest.raises(DataError, match="Line 1"):
        read_sts(path)
