"""A model's folder from the Hugging Face hub: from the cache if it is there, downloaded if not."""

from __future__ import annotations

from pathlib import Path

from unembed.encoders import locations
from unembed.errors import UnavailableError, UsageError

# Other frameworks' copies of the same weights, and pickles, which are not loaded anyway.
_NOT_NEEDED = [
    "onnx/*",
    "openvino/*",
    "*.bin",
    "*.pt",
    "*.pth",
    "*.h5",
    "*.msgpack",
    "*.ot",
    "*.gguf",
    "*.onnx",
]


def hub_folder(repository: str, *, mirror: str | None = None) -> Path:
    """The folder of `repository`; of `mirror` where the first is closed or does not answer."""
    choices = [repository] if mirror is None else [repository, mirror]
    for choice in choices:
        if cached := locations.hub_snapshot(choice):
            return cached
    reasons = []
    for choice in choices:
        try:
            return _download(choice)
        except UnavailableError as error:
            reasons.append(error.message)
    raise UnavailableError(
        " ".join(reasons),
        hint="With network access, run it again (set HF_TOKEN for a model behind a licence click). Without: "
        "download the model's folder elsewhere, copy it here, and give its path as the encoder.",
    )


def _download(repository: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        return Path(snapshot_download(repository, ignore_patterns=_NOT_NEEDED))
    except HFValidationError as error:
        raise UsageError(f"'{repository}' is not a model id (owner/model).") from error
    except GatedRepoError as error:
        raise UnavailableError(f"{repository} is behind a licence that must be accepted first.") from error
    except RepositoryNotFoundError as error:
        raise UnavailableError(f"The hub has no public model '{repository}'.") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise UnavailableError(f"{repository}: the Hugging Face hub cannot be reached.") from error
