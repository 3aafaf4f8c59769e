"""Files out of wheels, npm's tarballs, and tarballs inside them."""

import io
import tarfile
import zipfile

import pytest

from unembed.encoders.archive import BadArchiveError, open_member


def tarball(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture(params=["wheel", "npm"])
def archive(request, tmp_path):
    files = {"package/a.txt": b"plain", "package/b.tar.gz": tarball({"x": b"no", "y": b"inside" * 1000})}
    path = tmp_path / request.param
    if request.param == "npm":
        path.write_bytes(tarball(files))
    else:
        with zipfile.ZipFile(path, "w") as opened:
            for name, content in files.items():
                opened.writestr(name, content)
    return path


def test_files_and_files_of_files(archive):
    with open_member(archive, "package/a.txt") as file:
        assert file.read() == b"plain"
    with open_member(archive, "package/b.tar.gz!y") as file:
        assert file.read() == b"inside" * 1000


@pytest.mark.parametrize("name", ["package/none", "package/b.tar.gz!none", "package/a.txt!y"])
def test_what_is_not_there_is_one_kind_of_error(archive, name):
    with pytest.raises(BadArchiveError), open_member(archive, name) as file:
        file.read()


def test_what_is_no_archive(tmp_path):
    (tmp_path / "x").write_bytes(b"neither")
    with pytest.raises(BadArchiveError), open_member(tmp_path / "x", "a"):
        pass
