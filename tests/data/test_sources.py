import gzip
import json
from pathlib import Path

import pytest

from toy import LANGUAGES
from unembed.data import sources
from unembed.data.sources import parse_source
from unembed.errors import DataError, UsageError

TEXTS = [text for texts in LANGUAGES.values() for text in texts]


def read(spec: str, **options: str) -> list[str]:
    return list(parse_source(spec, **{"field": "text", **options}).texts())


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def as_json_lines(field: str) -> list[str]:
    return [json.dumps({"id": number, field: text}) for number, text in enumerate(TEXTS)]


def write_parquet(path: Path, column: str) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"id": range(len(TEXTS)), column: TEXTS}), path, row_group_size=7)
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "all.txt", TEXTS)


def test_plain(plain: Path) -> None:
    assert read(f"de={plain}") == TEXTS


@pytest.mark.parametrize("name", ["all.txt.gz", "no-suffix-at-all"])
def test_gzip_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    assert read(str(path)) == TEXTS


@pytest.mark.parametrize("name", ["all.jsonl", "all.ndjson", "all.jsonl.gz"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    data = "\n".join(as_json_lines("body")).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read(str(path), field="body") == TEXTS
    assert read(f"en={path}#body") == TEXTS


def test_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "all.parquet", "body")
    assert read(f"en={path}#body") == TEXTS
    with pytest.raises(UsageError, match=r"no field 'text'") as error:
        read(str(path))
    assert "body" in str(error.value.hint)


def test_a_folder_and_a_pattern_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    write_lines(tmp_path / "b.txt", TEXTS[10:])
    write_lines(tmp_path / "a.txt", TEXTS[:10])
    assert read(f"en={tmp_path}") == TEXTS
    assert read(f"en={tmp_path}/*.txt") == TEXTS


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet"])
@pytest.mark.parametrize("skip", [0, 1, 9, len(TEXTS), len(TEXTS) + 5])
def test_reading_can_begin_anywhere(tmp_path: Path, kind: str, skip: int) -> None:
    path = tmp_path / f"all.{kind}"
    if kind == "parquet":
        write_parquet(path, "text")
    else:
        write_lines(path, TEXTS if kind == "txt" else as_json_lines("text"))
    write_lines(tmp_path / "z.txt", ["one more"])
    source = parse_source(str(path), field="text")
    assert list(source.texts(skip=skip)) == TEXTS[skip:]
    both = sources.Source("en", "text", files=(path, tmp_path / "z.txt"))
    assert list(both.texts(skip=skip)) == [*TEXTS, "one more"][skip:]


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read(str(path)) == ["one", "two"]


def test_languages_and_names(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_source(str(plain), field="text").language == "und"
    assert parse_source(f"zh-Hant={plain}", field="text").language == "zh-Hant"
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "en=odd#name.txt", ["odd"])
    assert read("en=odd#name.txt") == ["odd"]


def test_a_kind_of_text_may_have_a_long_name(plain: Path) -> None:
    """A label is a language and a kind; `questions` is longer than any subtag of a language."""
    assert parse_source(f"en-questions={plain}", field="text").language == "en-questions"


def test_what_is_not_there(tmp_path: Path) -> None:
    for spec in (f"en={tmp_path}/missing.txt", "en=", f"{tmp_path}/none-*.txt"):
        with pytest.raises(UsageError):
            parse_source(spec, field="text")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no files"):
        parse_source(str(tmp_path / "empty"), field="text")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"fine\n\x00\x01\x02\n", "line 2, has a zero byte"),
        ("a.txt", b"fine\nfine\ncaf\xe9\n", "line 3, is not UTF-8"),
        ("a.jsonl", b'{"text": "fine"}\n{"text": \n', "line 2, is not valid JSON"),
        ("a.jsonl", b'{"text": 7}\n', "of type int"),
        ("a.jsonl", b'["text"]\n', "not a JSON object"),
        ("a.parquet", b"no parquet at all", "cannot be read as Parquet"),
        ("a.txt.gz", gzip.compress(b"fine\n" * 5000, mtime=0)[:-20], "damaged or cut off"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as error:
        read(str(path))
    assert name in error.value.message


def test_a_wrong_field_lists_the_right_ones(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "all.jsonl", as_json_lines("body"))
    with pytest.raises(UsageError, match="no field 'text'") as error:
        read(str(path))
    assert "id, body" in str(error.value.hint)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Zstandard"):
        read(str(write_lines(tmp_path / "all.jsonl.zst", ["x"])))


def test_a_fingerprint_follows_the_contents_not_the_place(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "elsewhere" / plain.name
    moved.parent.mkdir()
    moved.write_bytes(plain.read_bytes())
    before = parse_source(str(plain), field="text").fingerprint()
    assert parse_source(str(moved), field="text").fingerprint() == before
    moved.write_bytes(plain.read_bytes().replace(b"cat", b"dog"))
    assert parse_source(str(moved), field="text").fingerprint() != before
    monkeypatch.setattr(sources, "FULL_DIGEST_BYTES", 10)
    monkeypatch.setattr(sources, "_EDGE_BYTES", 8)
    large = parse_source(str(plain), field="text").fingerprint()
    assert "edges_sha256" in str(large)
    plain.write_bytes(plain.read_bytes()[:-1] + b"!")
    assert parse_source(str(plain), field="text").fingerprint() != large
