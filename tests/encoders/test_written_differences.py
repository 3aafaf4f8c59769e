"""What an encoder tells apart is asked once, and not at all where its tokenizer answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tokenizers import Tokenizer

import toy
from unembed.encoders import written_differences as room
from unembed.encoders.written_differences import ASKED, WrittenDifferences, written_differences
from unembed.errors import UnavailableError


class Asked(toy.ToyEncoder):
    """It counts the texts, and reads them as it is told to."""

    def __init__(self, tokenizer: Tokenizer | None, *, case: bool = True, spacing: bool = True) -> None:
        super().__init__(name=f"asked {case} {spacing}", tokenizer=toy.wordpiece())
        self.texts = 0
        self._own, self._case, self._spacing = tokenizer, case, spacing

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        self.texts += len(texts)
        read = [text if self._spacing else text.replace(" ", "") for text in texts]
        read = [text if self._case else text.lower() for text in read]
        # The toy folds case itself: what it should tell apart is escaped.
        return super().encode([text.encode().hex(" ") if self._case else text for text in read])

    def tokenizer(self) -> Tokenizer:
        if self._own is None:
            raise UnavailableError("An endpoint shows no tokenizer.")
        return self._own


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_KNOWN", {})


def test_a_tokenizer_that_reads_all_alike_needs_no_call() -> None:
    encoder = Asked(toy.wordpiece())
    assert written_differences(encoder) == WrittenDifferences(False, False, 0)
    assert encoder.texts == 0


@pytest.mark.parametrize("tokenizer", [None, toy.byte_bpe()])
@pytest.mark.parametrize(("case", "spacing"), [(True, True), (False, True), (True, False), (False, False)])
def test_otherwise_the_encoder_is_asked_once(tokenizer: Tokenizer | None, case: bool, spacing: bool) -> None:
    encoder = Asked(tokenizer, case=case, spacing=spacing)
    for _ in range(2):
        assert written_differences(encoder) == WrittenDifferences(case, spacing, ASKED)
    assert encoder.texts == ASKED


def test_the_bundled_encoder_is_not_asked(bundled) -> None:  # type: ignore[no-untyped-def]
    assert written_differences(bundled.encoder) == WrittenDifferences(False, False, 0)
