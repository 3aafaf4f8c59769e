"""A retrieval benchmark in BEIR's layout: documents, queries, and who of them belongs together.

    corpus.jsonl[.gz]    {"_id": "4983", "title": "...", "text": "..."}
    queries.jsonl[.gz]   {"_id": "1", "text": "..."}
    qrels.tsv            query-id, corpus-id, score, with a header; or qrels/test.tsv

Thakur et al. 2021, BEIR. As there, a document's text is its title and its text, and a query without a
relevant document is left out.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unembed.errors import DataError, UsageError
from unembed.storage import digest_json

_LAYOUT = (
    "A folder with corpus.jsonl, queries.jsonl (or both with .gz) and qrels.tsv, as BEIR's sets have them."
)


@dataclass(frozen=True)
class RetrievalSet:
    """Documents, queries, and for each query the grades of its relevant documents by their index."""

    name: str
    document_ids: tuple[str, ...]
    documents: tuple[str, ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    relevant: tuple[dict[int, int], ...]  # one per query

    @property
    def digest(self) -> str:
        return digest_json(
            [self.documents, self.queries, [sorted(grades.items()) for grades in self.relevant]]
        )


def read_beir(folder: Path | str) -> RetrievalSet:
    """The benchmark in a folder, named after it."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", hint=_LAYOUT)
    documents = dict(_texts(_find(folder, "corpus.jsonl", "corpus.jsonl.gz")))
    queries = dict(_texts(_find(folder, "queries.jsonl", "queries.jsonl.gz")))
    numbers = {document: number for number, document in enumerate(documents)}
    relevant: dict[str, dict[int, int]] = {}
    path = _find(folder, "qrels.tsv", "qrels/test.tsv")
    for query, document, grade in _judgements(path):
        if grade > 0 and query in queries:
            if document not in numbers:
                raise DataError(
                    f"{path} judges the document '{document}', which is not in the corpus.", hint=_LAYOUT
                )
            relevant.setdefault(query, {})[numbers[document]] = grade
    if not relevant:
        raise DataError(f"{folder} has no query with a relevant document.", hint=_LAYOUT)
    judged = tuple(query for query in queries if query in relevant)
    return RetrievalSet(
        name=folder.resolve().name,
        document_ids=tuple(documents),
        documents=tuple(documents.values()),
        query_ids=judged,
        queries=tuple(queries[query] for query in judged),
        relevant=tuple(relevant[query] for query in judged),
    )


def _find(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has no {names[0]}.", hint=_LAYOUT)


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                text = f"{record.get('title') or ''} {record['text']}".strip()
                yield str(record["_id"]), text
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(
                    f"Line {number} of {path} has no '_id' and 'text': {error}", hint=_LAYOUT
                ) from error


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, row in enumerate(rows, start=1):
            if number == 1 and row and not row[-1].lstrip("-").isdigit():
                continue  # the header
            if not row:
                continue
            try:
                query, document, grade = row[0], row[-2], int(row[-1])  # TREC's own has a column between
            except (IndexError, ValueError) as error:
                raise DataError(
                    f"Line {number} of {path} is not 'query, document, grade'.", hint=_LAYOUT
                ) from error
            yield query, document, grade
