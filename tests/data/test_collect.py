import json
from pathlib import Path

import pytest

from toy import LANGUAGES, sentences
from unembed.data import spool
from unembed.data.collect import collect
from unembed.data.collected import CollectedTexts
from unembed.data.config import CollectConfig
from unembed.data.normalise import normalise
from unembed.errors import DataError, MismatchError, UsageError
from unembed.storage import folder_lock


def config(*sources: str, **options: object) -> CollectConfig:
    return CollectConfig(source=sources, **options)


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def only_texts(collected: CollectedTexts) -> list[str]:
    return [text for text, _ in collected]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves, the lock aside."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_text_once_in_another_order(corpus: Path, tmp_path: Path) -> None:
    collected = collect(config(f"en={corpus}"), tmp_path / "out")
    assert sorted(only_texts(collected)) == sorted(sentences(400))
    assert only_texts(collected) != sentences(400)
    assert collected.manifest.languages == {"en": 400}
    assert not (tmp_path / "out" / "spool").exists()


def test_the_seed_decides_the_order(corpus: Path, tmp_path: Path) -> None:
    first = only_texts(collect(config(f"en={corpus}", seed=1), tmp_path / "a"))
    again = only_texts(collect(config(f"en={corpus}", seed=1), tmp_path / "b"))
    other = only_texts(collect(config(f"en={corpus}", seed=2), tmp_path / "c"))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_the_order_is_a_shuffle(tmp_path: Path) -> None:
    """Rank correlation between the order in and the order out is that of chance."""
    lines = [f"sentence number {number}" for number in range(2000)]
    out = only_texts(collect(config(f"en={write(tmp_path / 'a.txt', lines)}"), tmp_path / "out"))
    ranks = [int(text.split()[-1]) for text in out]
    mean = (len(ranks) - 1) / 2
    covariance = sum((place - mean) * (rank - mean) for place, rank in enumerate(ranks))
    variance = sum((rank - mean) ** 2 for rank in ranks)
    assert abs(covariance / variance) < 4 / len(ranks) ** 0.5


@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_the_result_does_not_depend_on_how_it_was_chunked(
    corpus: Path, tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = only_texts(collect(config(f"en={corpus}"), tmp_path / "whole"))
    monkeypatch.setattr(spool, "CHUNK_TEXTS", chunk)
    monkeypatch.setattr("unembed.data.collect._BATCH", 5)
    monkeypatch.setattr("unembed.data.spool._BLOCK", 50)
    assert only_texts(collect(config(f"en={corpus}"), tmp_path / "chunked")) == whole


def test_duplicates_are_found_under_normalisation(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.txt", ["Hello, world!", "hello, world", "  HELLO,   WORLD ", "Hello", "", "  "]
    )
    collected = collect(config(f"en={path}"), tmp_path / "out")
    assert sorted(only_texts(collected)) == ["Hello", "Hello, world!"]
    assert collected.manifest.dropped == {"duplicate": 2, "empty": 2}


def test_ten_languages_and_their_quotas(tmp_path: Path) -> None:
    sources = [f"{name}={write(tmp_path / f'{name}.txt', texts)}" for name, texts in LANGUAGES.items()]
    collected = collect(config(*sources, quota=("ja=1",), limit=2), tmp_path / "out")
    assert collected.manifest.languages == {name: 1 if name == "ja" else 2 for name in sorted(LANGUAGES)}
    for text, language in collected:
        assert text in LANGUAGES[language]


def test_a_quota_is_filled_across_sources_and_counts_what_is_kept(tmp_path: Path) -> None:
    one = write(tmp_path / "one.txt", ["a b", "A B!", "c d", "e f"])
    two = write(tmp_path / "two.txt", ["c d", "g h", "i j", "k l"])
    collected = collect(config(f"en={one}", f"en={two}", limit=5), tmp_path / "out")
    assert sorted(only_texts(collected)) == ["a b", "c d", "e f", "g h", "i j"]


def test_a_text_beyond_one_quota_is_not_a_duplicate_for_another(tmp_path: Path) -> None:
    one = write(tmp_path / "one.txt", ["a b", "c d"])
    two = write(tmp_path / "two.txt", ["c d", "e f"])
    collected = collect(config(f"en={one}", f"de={two}", quota=("en=1",)), tmp_path / "out")
    assert sorted(collected) == [("a b", "en"), ("c d", "de"), ("e f", "de")]


def test_a_random_pick_reaches_the_end_of_the_file(corpus: Path, tmp_path: Path) -> None:
    first = collect(config(f"en={corpus}", limit=40), tmp_path / "first")
    random = collect(config(f"en={corpus}", limit=40, pick="random"), tmp_path / "random")
    assert set(only_texts(first)) == set(sentences(400)[:40])
    assert len(random) == 40
    assert set(only_texts(random)) & set(sentences(400)[200:])


def test_length_filters(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", ["ab", "abc", "abcd", "abcde"])
    collected = collect(config(f"en={path}", min_chars=3, max_chars=4), tmp_path / "out")
    assert sorted(only_texts(collected)) == ["abc", "abcd"]
    assert collected.manifest.dropped == {"too_long": 1, "too_short": 1}


def test_line_breaks_and_half_characters_survive_the_files(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text}) for text in ("two\nlines\u2028here", "half \ud83e pair", "a\u0085b")]
    collected = collect(config(f"en={write(tmp_path / 'a.jsonl', lines)}"), tmp_path / "out")
    assert sorted(only_texts(collected)) == ["a\u0085b", "half \ufffd pair", "two\nlines\u2028here"]


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"limit": 10}, {"quota": ("en=7",)}, {"min_chars": 4}, {"pick": "random"}],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_setting_is_refused_by_name(
    corpus: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    collect(config(f"en={corpus}"), tmp_path / "out")
    before = tree(tmp_path / "out")
    with pytest.raises(MismatchError, match=next(iter(change))):
        collect(config(f"en={corpus}", **change), tmp_path / "out")
    assert tree(tmp_path / "out") == before


def test_a_changed_source_is_refused_by_name(corpus: Path, tmp_path: Path) -> None:
    collect(config(f"en={corpus}"), tmp_path / "out")
    corpus.write_text(corpus.read_text() + "One more.\n")
    with pytest.raises(MismatchError, match=r"corpus\.txt.*sha256 was"):
        collect(config(f"en={corpus}"), tmp_path / "out")


def test_running_again_changes_nothing(corpus: Path, tmp_path: Path) -> None:
    collect(config(f"en={corpus}"), tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*")}
    collect(config(f"en={corpus}"), tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*")} == before


def test_nothing_there(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    for _ in range(2):  # an empty file that is filled later must not find a finished collection
        with pytest.raises(DataError, match=r"No text was kept from empty\.txt"):
            collect(config(f"en={empty}"), tmp_path / "out")


def test_wrong_quotas(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no source in that language"):
        collect(config(f"en={corpus}", quota=("de=5",)), tmp_path / "out")
    with pytest.raises(UsageError, match="no source"):
        collect(config(), tmp_path / "out")
    with pytest.raises(ValueError, match="LANG=N"):
        config(f"en={corpus}", quota=("en=many",))


def test_one_run_at_a_time(corpus: Path, tmp_path: Path) -> None:
    with folder_lock(tmp_path / "out"), pytest.raises(UsageError, match="Another run"):
        collect(config(f"en={corpus}"), tmp_path / "out")
    collect(config(f"en={corpus}"), tmp_path / "out")


def test_damage_in_the_middle_keeps_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "CHUNK_TEXTS", 50)
    monkeypatch.setattr("unembed.data.collect._BATCH", 10)
    path = tmp_path / "a.txt"
    path.write_bytes("\n".join(sentences(120)).encode() + b"\n\xff\n")
    with pytest.raises(DataError, match="line 121"):
        collect(config(f"en={path}"), tmp_path / "out")
    assert len(list((tmp_path / "out" / "spool").glob("*.txt"))) == 2


def test_reading_from_a_position(texts: Path) -> None:
    collected = CollectedTexts.open(texts)
    everything = list(collected)
    for start, count in ((0, 10), (10, 10), (395, 10), (50, 3), (400, 5)):
        assert collected.read(start, count) == everything[start : start + count]
    assert {normalise(text) for text, _ in everything} == {normalise(text) for text in sentences(400)}


def test_a_cut_file_is_named(texts: Path) -> None:
    file = texts / "texts-00000.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"texts-00000\.jsonl\.gz has .* bytes instead of"):
        CollectedTexts.open(texts)
