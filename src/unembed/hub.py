"""The Hugging Face hub: snapshots, single files and uploads, with one set of error messages.

A snapshot counts as complete when every file that the hub listed has arrived; a note beside it says so.
Without that note the hub is asked again, and sends what is missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from unembed.errors import UnavailableError, UnembedError, UsageError
from unembed.storage import digest_json, read_json, write_json

if TYPE_CHECKING:
    from huggingface_hub import HfApi

COMPLETE = "unembed"  # folder of the notes, in the cache's folder of a repository
TIMEOUT = 20  # seconds that the hub has for a question
LATER = (
    "Run it again when the hub answers (HF_TOKEN for a model behind a login or a licence click), or download "
    "the folder elsewhere, copy it here, and give its path."
)


_LOCAL = {"model": "local folder", "tokenizer": "tokenizer file", "dataset": "local file"}


class CutOffError(UnavailableError):
    """A download that ended early, and a hub that does not send the rest."""


def snapshot(
    repository: str,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    force_download: bool = False,
    local_files_only: bool = False,
    allow: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
) -> Path:
    """The folder of a model repository, whole: from the hub, or from the cache where the hub is silent."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

    with hub_errors(repository, "model"):
        listed = None if local_files_only else _listed_files(repository, revision, token)
        folder = Path(
            snapshot_download(
                repository,
                revision=revision,
                token=token,
                cache_dir=cache_dir or _cache(),
                endpoint=_endpoint(),
                force_download=force_download and listed is not None,
                local_files_only=listed is None,
                allow_patterns=_list(allow),
                ignore_patterns=_list(ignore),
            )
        )
    note = _note(folder, allow, ignore)
    if listed is None:
        wanted = read_json(note)["files"] if note.is_file() else []
    else:
        wanted = list(filter_repo_objects(listed, allow_patterns=_list(allow), ignore_patterns=_list(ignore)))
    if missing := [*_absent(folder, wanted), *_missing_shards(folder)]:
        raise CutOffError(f"The download of {repository} was cut off: {missing[0]} is missing.", hint=LATER)
    if listed is not None:
        with suppress(OSError):  # a cache that others own is read all the same
            write_json(note, {"files": wanted})
    return folder


def cached_snapshot(
    repository: str, *, allow: Sequence[str] | None = None, ignore: Sequence[str] | None = None
) -> Path | None:
    """A snapshot in the cache that is known to be complete. Nobody is asked, and nothing slow imported."""
    for folder in _snapshots(repository):
        note = _note(folder, allow, ignore)
        with suppress(UnembedError, KeyError, TypeError):
            if note.is_file() and not _absent(folder, read_json(note)["files"]):
                return folder
    return None


def looks_cached(repository: str) -> bool:
    """Whether weights are in the cache, with nothing that they name missing. Nobody is asked."""
    return any(
        any(file.is_file() for file in folder.glob("*.safetensors"))
        for folder in _snapshots(repository)
        if not _missing_shards(folder)
    )


def download_file(repository: str, name: str, *, kind: str = "model") -> Path:
    """One file of a repository: from the cache, or downloaded. `kind` is what a message calls it."""
    from huggingface_hub import hf_hub_download

    with hub_errors(repository, kind):
        listed = _listed_files(repository, None, None)
        return Path(
            hf_hub_download(
                repository, name, cache_dir=_cache(), endpoint=_endpoint(), local_files_only=listed is None
            )
        )


def dataset_revision(name: str) -> str:
    """The commit that a dataset is at."""
    with hub_errors(name, "dataset"):
        return str(hub_api().dataset_info(name, timeout=TIMEOUT).sha)


def upload(
    folder: Path,
    repository: str,
    *,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    message: str | None = None,
    allow: Sequence[str] | None = None,
) -> str:
    """Upload a folder's files as one commit to a repository, which is made if need be; its address."""
    api = hub_api(token)
    try:
        created = api.create_repo(repository, private=private, exist_ok=True).repo_id
        commit = api.upload_folder(
            repo_id=created,
            folder_path=folder,
            revision=revision,
            commit_message=message,
            allow_patterns=_list(allow),
        )
    except Exception as error:  # every network library has its own family of errors
        raise UnavailableError(
            f"The hub did not take {repository}: {type(error).__name__}: {_first_line(error)}",
            hint="Check the connection, and log in with: hf auth login",
        ) from error
    return str(commit)


def hub_api(token: str | bool | None = None) -> HfApi:
    """The hub at HF_ENDPOINT, or the public one."""
    from huggingface_hub import HfApi

    return HfApi(endpoint=_endpoint(), token=token)


@contextmanager
def hub_errors(repository: str, kind: str) -> Iterator[None]:
    """Say in one line what is wrong: the name, the login, the licence, the connection."""
    from huggingface_hub import errors

    try:
        yield
    except errors.HFValidationError as error:
        raise UsageError(f"'{repository}' is neither a {_LOCAL[kind]} nor a hub id (owner/name).") from error
    except errors.GatedRepoError as error:
        raise UnavailableError(
            f"{repository} is behind a licence that must be accepted first.", hint=LATER
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise UsageError(
            f"The hub has no {kind} '{repository}' (or it needs a login).",
            hint="Check the name; set HF_TOKEN for one that is not public.",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UsageError(f"{repository} has no such revision on the hub.") from error
    except errors.LocalEntryNotFoundError as error:
        raise UnavailableError(
            f"{repository} is neither a {_LOCAL[kind]} nor whole in the cache; the hub cannot be reached.",
            hint=LATER,
        ) from error
    except errors.EntryNotFoundError as error:
        raise UsageError(f"{repository} on the hub holds no such file: {_first_line(error)}") from error
    except UnembedError:
        raise
    except Exception as error:  # every network library has its own family of errors
        raise UnavailableError(
            f"{repository}: the hub cannot be reached ({type(error).__name__}).", hint=LATER
        ) from error


def _listed_files(repository: str, revision: str | None, token: str | bool | None) -> list[str] | None:
    """What the hub says is in a repository; None where there is no connection."""
    from huggingface_hub import errors

    try:
        info = hub_api(token).model_info(repository, revision=revision, timeout=TIMEOUT)
    except (errors.HFValidationError, errors.HfHubHTTPError) as error:
        status = getattr(getattr(error, "response", None), "status_code", 0)
        if (status < 500 and status != 0) or isinstance(error, errors.HFValidationError):
            raise
        return None
    except Exception:  # no connection, a timeout, offline by choice: the cache may do
        return None
    return [sibling.rfilename for sibling in info.siblings or []]


def _absent(folder: Path, names: Sequence[str]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]


def _missing_shards(folder: Path) -> list[str]:
    """Weights that an index names and that are not there."""
    out = []
    for index in folder.glob("*.safetensors.index.json"):
        with suppress(UnembedError, AttributeError):
            out += _absent(folder, sorted(set(read_json(index).get("weight_map", {}).values())))
    return out


def _snapshots(repository: str) -> list[Path]:
    """The cache's snapshots of a repository, newest first."""
    folders = Path(_cache(), "models--" + repository.replace("/", "--"), "snapshots").glob("*")
    return sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)


def _note(folder: Path, allow: Sequence[str] | None, ignore: Sequence[str] | None) -> Path:
    """Where it is noted that a snapshot holds all that these patterns ask for."""
    patterns = digest_json([_list(allow), _list(ignore)])[:16]
    return folder.parent.parent / COMPLETE / f"{folder.name}-{patterns}.json"


def _cache() -> Path:
    # The cache's location and layout are documented; asking huggingface_hub itself costs a slow import.
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = os.environ.get("HF_HOME") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
    )
    return Path(home) / "hub"


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _list(patterns: Sequence[str] | None) -> list[str] | None:
    return None if patterns is None else list(patterns)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
