"""The files of a model's folder: one list, by which it is read, saved, exported, uploaded and replaced.

config.json holds the sha256 of the others. Phrases, casing and the surrogate are of the data, not of the
weights: they come later, by commands of their own, and stay when better weights replace the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from unembed.encoders import surrogate_encoder as surrogates
from unembed.encoders.base import EncoderInfo
from unembed.encoders.surrogate_encoder import Surrogate, SurrogateConfig, load_surrogate
from unembed.errors import UnembedError
from unembed.model.trigrams import PHRASES, Phrases
from unembed.model.truecasing import CASING, Casing
from unembed.model.vocabulary import Vocabulary
from unembed.storage import atomic_folder, digest_file, read_checked, read_json, write_json

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
SURROGATE = "surrogate"
SURROGATE_CONFIG = f"{SURROGATE}/{surrogates.CONFIG}"  # it holds the digests of the surrogate's other files
SURROGATE_FILES = (
    SURROGATE_CONFIG,
    f"{SURROGATE}/{surrogates.WEIGHTS}",
    f"{SURROGATE}/{surrogates.TOKENIZER}",
)
PARTS = (CONFIG, WEIGHTS, TOKENIZER, CARD, PHRASES, CASING, *SURROGATE_FILES)
AGAIN = "Copy or download the model again."


@dataclass(frozen=True)
class OptionalParts:
    """Phrases, casing, surrogate and card as they lie in a model's folder; each is read when asked for."""

    folder: Path | None = None
    digests: dict[str, str] = field(default_factory=dict)  # what config.json says of them
    with_phrases: bool = True
    with_casing: bool = True
    with_surrogate: bool = True
    with_card: bool = True

    def phrases(self, vocabulary: Vocabulary) -> Phrases | None:
        """The phrases, if there are any; damaged ones are an error."""
        if self.folder is None or not self.has_phrases:
            return None
        self._read(PHRASES)
        return Phrases.load(self.folder / PHRASES, vocabulary)

    def casing(self) -> Casing:
        """How words are written, as far as that came with the model; damaged counts are an error."""
        if self.folder is None or not self._has(CASING, self.with_casing):
            return Casing()
        self._read(CASING)
        return Casing.load(self.folder / CASING)

    @property
    def has_phrases(self) -> bool:
        return self._has(PHRASES, self.with_phrases)

    @property
    def has_surrogate(self) -> bool:
        return self._has(SURROGATE_CONFIG, self.with_surrogate)

    def surrogate(self, device: str) -> Surrogate:
        """The surrogate, checked."""
        if self.folder is None or not self.has_surrogate:
            raise UnembedError(
                "This model came without a surrogate.",
                hint="Train one: unembed surrogate --data DATA --model MODEL",
            )
        self._read(SURROGATE_CONFIG)
        return load_surrogate(self.folder / SURROGATE, device=device)

    def contents(self) -> dict[str, bytes]:
        """Every optional file that is there, checked, by its name in the folder."""
        out = {}
        if self.has_phrases:
            out[PHRASES] = self._read(PHRASES)
        if self._has(CASING, self.with_casing):
            out[CASING] = self._read(CASING)
        if self.folder is not None and self.has_surrogate:
            out[SURROGATE_CONFIG] = self._read(SURROGATE_CONFIG)
            inner = read_json(self.folder / SURROGATE_CONFIG).get("digests", {})
            for name in SURROGATE_FILES[1:]:
                digest = inner.get(name.rpartition("/")[2])
                out[name] = read_checked(self.folder / name, digest, hint=AGAIN)
        if self._has(CARD, self.with_card):
            out[CARD] = self._read(CARD)
        return out

    def that_fit(self, vocabulary: Vocabulary, encoder: EncoderInfo) -> OptionalParts:
        """Without a card, and without what is damaged or of another vocabulary or encoder."""
        return replace(
            self,
            with_phrases=self._phrases_fit(vocabulary),
            with_casing=self._casing_is_whole(),
            with_surrogate=self._surrogate_fits(encoder),
            with_card=False,
        )

    def _phrases_fit(self, vocabulary: Vocabulary) -> bool:
        try:
            return self.phrases(vocabulary) is not None
        except UnembedError:
            return False

    def _casing_is_whole(self) -> bool:
        try:
            self.casing()
        except UnembedError:
            return False
        return True

    def _surrogate_fits(self, encoder: EncoderInfo) -> bool:
        try:
            config = SurrogateConfig.model_validate_json(self._read(SURROGATE_CONFIG))
            self.contents()
        except (UnembedError, ValidationError, FileNotFoundError):
            return False
        return config.encoder.digest == encoder.digest

    def _has(self, name: str, wanted: bool) -> bool:
        """Whether a part is there, or should be: config.json lists it."""
        if self.folder is None or not wanted:
            return False
        return name in self.digests or (self.folder / name).exists()

    def _read(self, name: str) -> bytes:
        """A file; against its digest, where config.json has one (a card is anybody's to edit)."""
        assert self.folder is not None
        if name in self.digests:
            return read_checked(self.folder / name, self.digests[name], hint=AGAIN)
        return (self.folder / name).read_bytes()


def put_phrases(folder: Path, phrases: Phrases) -> None:
    """Write a model's phrases into its folder."""
    _list(folder, PHRASES, None)
    phrases.save(folder / PHRASES)
    _list(folder, PHRASES, digest_file(folder / PHRASES))


def put_casing(folder: Path, casing: Casing) -> None:
    """Write how words are written into a model's folder."""
    _list(folder, CASING, None)
    casing.save(folder / CASING)
    _list(folder, CASING, digest_file(folder / CASING))


def put_surrogate(folder: Path, surrogate: Surrogate) -> None:
    """Write a model's surrogate into its folder."""
    _list(folder, SURROGATE_CONFIG, None)
    with atomic_folder(folder / SURROGATE) as fresh:
        surrogate.save(fresh)
    _list(folder, SURROGATE_CONFIG, digest_file(folder / SURROGATE_CONFIG))


def _list(folder: Path, name: str, digest: str | None) -> None:
    """Change what config.json says of a part; a part that it does not list is read all the same.

    So a part is taken off the list before it is replaced: a kill leaves a folder that can be read.
    """
    described = read_json(folder / CONFIG)
    digests = described.setdefault("digests", {})
    if digests.pop(name, None) == digest is None:
        return
    if digest is not None:
        digests[name] = digest
    write_json(folder / CONFIG, described)
