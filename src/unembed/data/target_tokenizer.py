"""Which tokenizer the targets are written in: the encoder's own, a file's, or one from the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unembed.encoders.base import Encoder
from unembed.errors import DataError, UnavailableError, UsageError
from unembed.hub import download_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENCODERS_OWN = "encoder"
_PAD_TOKENS = ("[PAD]", "<pad>", "<|pad|>")


def choose_tokenizer(name: str, encoder: Encoder) -> Tokenizer:
    """`encoder`, a path to a `tokenizer.json` (or its folder), or a hub id such as `gpt2`."""
    if name == ENCODERS_OWN:
        return plain_copy(encoder.tokenizer())
    path = Path(name).expanduser()
    if path.is_dir():
        path = path / "tokenizer.json"
    if path.is_file():
        return _from_file(path)
    if path.suffix == ".json" or name.startswith((".", "/", "~")):
        raise UsageError(
            f"There is no tokenizer at {path}.",
            hint="Give a tokenizer.json, a hub id, or leave --tokenizer out.",
        )
    return _from_file(_download(name))


def plain_copy(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer without truncation and padding: both are done here, where they are counted."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """One more than the largest id (ids can have gaps, so this is not the number of entries)."""
    return 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)


def pad_id(tokenizer: Tokenizer) -> int:
    """The id that fills a row after its last token: the padding token's, or 0 where there is none."""
    for token in _PAD_TOKENS:
        found = tokenizer.token_to_id(token)
        if found is not None:
            return int(found)
    return 0


def _from_file(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return plain_copy(Tokenizer.from_file(str(path)))
    except Exception as error:  # the library raises a bare Exception for a file that it cannot read
        raise DataError(
            f"{path} is not a tokenizer.json: {error}", hint="Give the tokenizer.json of a fast tokenizer."
        ) from error


def _download(name: str) -> Path:
    try:
        return download_file(name, "tokenizer.json", kind="tokenizer")
    except UnavailableError as error:
        raise UnavailableError(
            error.message,
            hint="Download its tokenizer.json where there is a connection, and give its path: "
            "--tokenizer path/to/tokenizer.json",
        ) from error
