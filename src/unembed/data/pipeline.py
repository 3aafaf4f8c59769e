"""Both stages in one call: texts in, training data for an encoder out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unembed.config_file import settings_from
from unembed.data.collect import collect
from unembed.data.config import PrepareConfig
from unembed.data.encode import encode
from unembed.data.prepared import PreparedData
from unembed.data.verify import TEXTS
from unembed.encoders.base import Encoder


def prepare(
    source: str | Path | Sequence[str | Path] | PrepareConfig,
    output: str | Path,
    *,
    encoder: str | Encoder | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    quiet: bool = True,
    **fields: Any,
) -> PreparedData:
    """Collect texts, encode them, and return the prepared folder: what `unembed prepare` does.

    >>> data = unembed.prepare("en=corpus.txt.gz", "data/short", limit=20_000, seq_len=32)
    >>> data.manifest.counts  # texts by split: train, validation, test
    >>> data.split("train").texts([0])  # what the encoder was given

    `source` is a file or `hub:DATASET`, with `LANG=` in front of it if the language is known, or several of
    them, or a whole `PrepareConfig`. `fields` are the fields of `PrepareConfig`: `limit`, `seq_len`,
    `min_tokens`, ... The encoder is a name, a folder, a hub id, or an object with the `Encoder` protocol.
    Called again after an interruption, it continues where it stopped.
    """
    given = encoder if encoder is not None and not isinstance(encoder, str) else None
    if isinstance(encoder, str):
        fields["encoder"] = encoder
    if isinstance(source, PrepareConfig):
        config = settings_from(PrepareConfig, source, fields)
    else:
        sources = [source] if isinstance(source, (str, Path)) else source
        config = settings_from(PrepareConfig, None, fields | {"source": tuple(map(str, sources))})
    folder = Path(output)
    collect(config.collect(), folder / TEXTS, quiet=quiet)
    return encode(
        config.encode(),
        folder / TEXTS,
        folder,
        encoder=given,
        device=device,
        trust_remote_code=trust_remote_code,
        quiet=quiet,
    )
