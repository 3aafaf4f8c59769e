"""Files and folders are whole or absent, and what is read is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from unembed.errors import DataError
from unembed.storage import atomic_folder, differences, digest_bytes, read_checked


def fill(folder: Path, text: str) -> None:
    with atomic_folder(folder) as fresh:
        (fresh / "file").write_text(text)


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    fill(tmp_path / "it", "old")
    (tmp_path / "it" / "more").write_text("")
    fill(tmp_path / "it", "new")
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["file"]
    assert (tmp_path / "it" / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    fill(tmp_path / "it", "old")
    with pytest.raises(TypeError):
        fill(tmp_path / "it", None)  # type: ignore[arg-type]
    assert (tmp_path / "it" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_swap_that_was_cut_in_two_is_mended_first(tmp_path: Path) -> None:
    fill(tmp_path / "it", "old")
    (tmp_path / "it").rename(tmp_path / "it.old")
    (tmp_path / "it.partial").mkdir()
    with atomic_folder(tmp_path / "it") as fresh:
        assert (tmp_path / "it" / "file").read_text() == "old"  # readers have it while the new one is made
        (fresh / "file").write_text("new")
    assert (tmp_path / "it" / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_checked_read_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(DataError, match="incomplete: file is missing"):
        read_checked(path, digest_bytes(b"a"))
    path.write_bytes(b"a")
    assert read_checked(path, digest_bytes(b"a")) == b"a"
    for digest in (digest_bytes(b"b"), None):
        with pytest.raises(DataError, match="file is damaged") as caught:
            read_checked(path, digest, hint="Do this.")
        assert caught.value.hint == "Do this."


def test_differences_are_named_by_where_they_are() -> None:
    before, now = {"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 4, "d": 3}, "e": 5}
    assert differences(before, now) == ["b.c was 2, now 4", "e was not given, now 5"]
    assert differences(before, before) == []
