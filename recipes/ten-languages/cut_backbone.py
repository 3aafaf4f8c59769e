"""A multilingual backbone cut to the pieces of some texts, and its tokenizer.

    unembed encoders fetch multilingual-e5-small
    python recipes/ten-languages/cut_backbone.py -o backbone en=en_short.txt.gz de=de.txt.gz ...

multilingual-e5-small has 250,000 pieces; the texts of ten languages use a fifth of them often. A unigram
tokenizer with fewer pieces cuts a text whose pieces are all kept as before, because the likeliest way to cut
it is still there; any other text it spells with smaller ones. So rare pieces can go, as long as every letter
stays.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer

from unembed.encoders.fetch import require_fetched
from unembed.encoders.four_bit import FourBit, read_four_bit
from unembed.encoders.nano_e5 import nmt_nfkc, tokenizer_of
from unembed.encoders.recipes import RECIPES
from unembed.encoders.spm import unigram_tokenizer

ENCODER = "multilingual-e5-small"
MASK_ROW = 250_001  # of XLM-R's table: the row behind the last piece
SPECIAL = 4  # <s>, <pad>, </s> and <unk> come first
SHARE, TIMES = 1.2e-5, 12  # a piece stays that makes up this share of some language, and occurs so often
LETTER_TIMES = 10  # a letter stays that occurs so often
AT_ONCE = 20_000


def read_texts(files: Mapping[str, Sequence[Path]], most: int) -> dict[str, list[str]]:
    """The texts by language; of a language with many files, at most so many lines of each."""
    rng = random.Random(0)
    texts: dict[str, list[str]] = {}
    for language, paths in files.items():
        texts[language] = []
        for path in paths:
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                found = lines.read().splitlines()
            texts[language] += rng.sample(found, min(len(found), most)) if len(paths) > 2 else found
    return texts


def frequent_pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> set[int]:
    counts: Counter[int] = Counter()
    for start in range(0, len(texts), AT_ONCE):
        some = list(texts[start : start + AT_ONCE])
        for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=False):
            counts.update(encoding.ids)
    total = sum(counts.values())
    return {piece for piece, count in counts.items() if count >= TIMES and count >= SHARE * total}


def letters(stored: FourBit, texts: Mapping[str, Sequence[str]]) -> set[int]:
    """The pieces of one letter, with and without a space before it."""
    normalizer = nmt_nfkc()
    counts: Counter[str] = Counter()
    for lines in texts.values():
        for line in lines:
            counts.update(normalizer.normalize_str(line))
    kept = {letter for letter, count in counts.items() if count >= LETTER_TIMES}
    return {
        piece
        for piece, (text, _) in enumerate(stored.pieces.scored)
        if text in kept or (len(text) == 2 and text[0] == "▁" and text[1] in kept)
    }


def write(stored: FourBit, kept: set[int], folder: Path) -> int:
    """Backbone and tokenizer with these pieces; how many there are."""
    order = [*range(SPECIAL), *sorted(piece for piece in kept if piece >= SPECIAL)]
    pieces = stored.pieces
    vocabulary = [pieces.scored[piece] for piece in order]
    tokenizer = unigram_tokenizer(vocabulary, nmt_nfkc(), pieces.unknown, pieces.first, pieces.last)
    tokenizer.add_special_tokens([AddedToken("<mask>", normalized=False)])
    weights = {name: value.float().contiguous() for name, value in stored.weights.items()}
    table = "embeddings.word_embeddings.weight"
    weights[table] = weights[table][torch.tensor([*order, MASK_ROW])].contiguous()  # [V + 1, D]
    config = {
        "model_type": "bert",
        "vocab_size": len(order) + 1,
        "hidden_size": stored.config.hidden_size,
        "num_hidden_layers": stored.config.num_hidden_layers,
        "num_attention_heads": stored.config.num_attention_heads,
        "intermediate_size": stored.config.intermediate_size,
        "max_position_embeddings": stored.config.max_position_embeddings,
        "layer_norm_eps": stored.config.layer_norm_eps,
        "hidden_act": "gelu",
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return len(order)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", metavar="LANG=FILE", help="texts, one a line, gzip")
    parser.add_argument("--most", type=int, default=40_000, help="lines of a file, where a language has many")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    files: dict[str, list[Path]] = {}
    for given in args.texts:
        language, _, path = given.partition("=")
        files.setdefault(language, []).append(Path(path))
    stored = read_four_bit(require_fetched(ENCODER) / RECIPES[ENCODER].weights)
    tokenizer = tokenizer_of(stored.pieces)
    texts = read_texts(files, args.most)
    kept = letters(stored, texts).union(*(frequent_pieces(tokenizer, lines) for lines in texts.values()))
    sys.stdout.write(f"{write(stored, kept, args.output):,} of {len(stored.pieces.scored):,} pieces\n")


if __name__ == "__main__":
    main()
