"""The texts that `unembed adapt` embeds by default, chosen for coverage of words, lengths and kinds.

    pip install faker==40.54.0
    python recipes/adapters/default_texts.py en_short.txt.gz src/unembed/assets/adapt-texts.txt.gz

Three quarters are sentences of Tatoeba (CC BY 2.0 FR), the rest is made by rule (minilm-en/made_texts.py).
Two thirds of Tatoeba's are chosen one after the other, each for words that were rare until then; one third is
chance. The order is random: the first N lines are a sample of all, whatever N. What a split by key may hold
out of Tatoeba is not among them.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import random
import re
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

from unembed.data.normalise import normalise, text_keys
from unembed.data.split import SPLITS, split_labels
from unembed.model.bundled import BUNDLED
from unembed.model.parts import TOKENIZER

sys.path.insert(0, str(Path(__file__).parents[1] / "minilm-en"))
from made_texts import made  # the recipe beside this one is no package

LINES, MADE = 20_000, 5_000
HELD_OUT = 0.05  # at either end of the keys: what people hold out at most
SHORTEST, LONGEST = 4, 32  # tokens
# Tokens at most, and the share of Tatoeba's part: it has few long sentences, and people embed those too.
LENGTHS = ((8, 0.25), (12, 0.3), (18, 0.25), (24, 0.12), (LONGEST, 0.08))
KNOWN = 3  # a word of fewer sentences is a misspelling as likely as not
UNWANTED = re.compile(
    r"\b(fuck\w*|shit\w*|cunt\w*|bitch\w*|nigg\w*|fag\w*|whore\w*|slut\w*|rape\w*|porn\w*|penis\w*|dick"
    r"|vagina\w*|sex\w*|orgasm\w*|masturbat\w*|bastard\w*|asshole\w*|kike\w*|retard\w*|nazi\w*|hitler)\b",
    re.IGNORECASE,
)


def usable(lines: list[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Each sentence once, with its tokens: of a length that models write, decent, and held out by nobody."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(BUNDLED / TOKENIZER))
    labels = split_labels(text_keys(lines), validation_share=HELD_OUT, test_share=HELD_OUT)
    train = SPLITS.index("train")
    kept = [
        line
        for line, label in zip(lines, labels, strict=True)
        if label == train and line.isascii() and not UNWANTED.search(line)
    ]
    kept = list({normalise(line): line for line in kept}.values())
    found = tokenizer.encode_batch(kept, add_special_tokens=False)
    return [
        (line, tuple(one.ids))
        for line, one in zip(kept, found, strict=True)
        if SHORTEST <= len(one.ids) <= LONGEST
    ]


def covering(sentences: list[tuple[str, tuple[int, ...]]], count: int, seen: Counter[int]) -> list[str]:
    """`count` sentences, one after the other, each with the rarest words of those that are left.

    Worth only falls while words are seen, so that the best of a heap, looked at again, is the best of all.
    """

    def worth(tokens: tuple[int, ...]) -> float:
        distinct = set(tokens)
        return sum(1.0 / (1.0 + seen[token]) for token in distinct if token in known) / len(tokens) ** 0.5

    occurs = Counter(token for _, tokens in sentences for token in set(tokens))
    known = {token for token, times in occurs.items() if times >= KNOWN}
    heap = [(-worth(tokens), number) for number, (_, tokens) in enumerate(sentences)]
    heapq.heapify(heap)
    chosen: list[str] = []
    while heap and len(chosen) < count:
        before, number = heapq.heappop(heap)
        text, tokens = sentences[number]
        now = -worth(tokens)
        if heap and now > heap[0][0] and now > before:
            heapq.heappush(heap, (now, number))
            continue
        chosen.append(text)
        seen.update(set(tokens))
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tatoeba", type=Path, help="One sentence a line, gzip.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    by_rule = usable([" ".join(line.split()) for line in islice(made([args.tatoeba], args.seed), 2 * MADE)])
    chosen = [text for text, _ in by_rule[:MADE]]
    seen: Counter[int] = Counter(token for _, tokens in by_rule[:MADE] for token in set(tokens))
    with gzip.open(args.tatoeba, "rt", encoding="utf-8") as file:
        sentences = usable([line.strip() for line in file])
    draw.shuffle(sentences)
    shorter = SHORTEST - 1
    for longest, share in LENGTHS:
        part = [one for one in sentences if shorter < len(one[1]) <= longest]
        wanted = round(share * (LINES - MADE))
        # A third as they come: a map must know frequent words best, and coverage alone is all rare ones.
        common = part[: wanted // 3]
        seen.update(token for _, tokens in common for token in set(tokens))
        chosen += [text for text, _ in common]
        chosen += covering(part[wanted // 3 :], wanted - len(common), seen)
        shorter = longest
    chosen = sorted({normalise(text): text for text in chosen}.values())
    draw.shuffle(chosen)
    content = "".join(f"{text}\n" for text in chosen).encode()
    # No time in the header: the same texts are the same file.
    args.output.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    sys.stderr.write(f"{len(chosen):,} lines, {args.output.stat().st_size / 1000:.0f} kB, ")
    sys.stderr.write(f"{sum(times > 0 for times in seen.values()):,} tokens of the vocabulary\n")


if __name__ == "__main__":
    main()
