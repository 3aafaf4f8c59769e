"""The vectors of the original texts: embedded once, ever, since an encoder's calls may cost money."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import BATCH_TOKENS, Encoder, EncoderInfo
from unembed.metrics.cosine import cosines
from unembed.metrics.exact import exact_match
from unembed.search.guided_strategy import TIE
from unembed.storage import atomic_write, digest_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from unembed.evaluation.recovery import Recovered

Floats = NDArray[np.float32]


class OriginalsOnce:
    """An encoder that embeds each of the original texts at most once; other texts it passes on.

    The vectors are stored in the run's folder, so that a resumed run does not embed them again.
    """

    def __init__(self, encoder: Encoder, originals: Sequence[str], folder: Path) -> None:
        self._encoder = encoder
        texts = list(dict.fromkeys(originals))
        self._row = {text: row for row, text in enumerate(texts)}
        self._vectors: dict[int, Floats] = {}  # by row
        name = digest_json([encoder.info.digest, texts])[:12]
        self._path = folder / f"originals-{name}.npz"
        if self._path.exists():
            with np.load(self._path, allow_pickle=False) as stored:
                self._vectors = dict(zip(stored["rows"].tolist(), stored["vectors"], strict=True))

    @property
    def info(self) -> EncoderInfo:
        return self._encoder.info

    def tokenizer(self) -> Tokenizer:
        return self._encoder.tokenizer()

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> Floats:  # [N, D]
        """One vector per text; only texts that are new, or not originals, reach the encoder."""
        new = [text for text in dict.fromkeys(texts) if self._row.get(text, -1) not in self._vectors]
        made = (
            dict(zip(new, self._encoder.encode(new, batch_tokens=batch_tokens), strict=True)) if new else {}
        )
        learnt = {self._row[text]: vector for text, vector in made.items() if text in self._row}
        if learnt:
            self._vectors |= learnt
            self._save()
        out = np.zeros((len(texts), self.info.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row] = made[text] if text in made else self._vectors[self._row[text]]
        return out

    def _save(self) -> None:
        rows = np.array(list(self._vectors), dtype=np.int64)
        with atomic_write(self._path) as file:
            np.savez(file, rows=rows, vectors=np.stack(list(self._vectors.values())))


def ambiguous(
    guide: Encoder, vectors: Floats, originals: Sequence[str], found: Sequence[Recovered]
) -> list[bool]:
    """For each text, whether it is not the original and yet as near: the guide cannot tell which is right."""
    own = cosines(vectors, guide.encode(originals)).tolist()  # [n]
    return [
        one.cosine is not None and one.cosine >= near - TIE and not exact_match(original, one.text)
        for one, near, original in zip(found, own, originals, strict=True)
    ]
