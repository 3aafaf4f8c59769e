"""The inputs of docs/scale.md's formulas: processor seconds for a vector and for a sentence, on one core.

    python benchmarks/scale_inputs.py --texts corpus.txt.gz [--vectors 128] [--encoder minilm]

Processor time of one thread, which other work on the machine disturbs little. The texts are every 97th line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from itertools import islice
from pathlib import Path

import torch

from unembed import Inverter
from unembed.data.align import align
from unembed.encoders import load_encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--vectors", type=int, default=128)
    parser.add_argument("--sentences", type=int, default=4096)
    parser.add_argument("--encoder", action="append")
    options = parser.parse_args()
    torch.set_num_threads(1)
    opened = gzip.open if options.texts.suffix == ".gz" else open
    with opened(options.texts, "rt", encoding="utf-8") as lines:
        texts = [line.strip() for line in islice(lines, 0, None, 97)][: options.sentences]
    for name in options.encoder or ["minilm"]:
        encoder = load_encoder(name, device="cpu")
        encoder.encode(texts[:64])
        began = time.process_time()
        encoder.encode(texts)
        each = (time.process_time() - began) / len(texts)
        print(
            json.dumps({"encoder": name, "sentences": len(texts), "seconds_each": round(each, 6)}), flush=True
        )
    aligning = load_encoder("minilm", device="cpu").tokenizer()
    began = time.process_time()
    align(aligning, texts, seq_len=32)
    each = (time.process_time() - began) / len(texts)
    print(json.dumps({"aligned": len(texts), "seconds_each": round(each, 6)}), flush=True)
    inverter = Inverter.from_pretrained()
    vectors = inverter.encode(texts[: options.vectors])
    for quality in ("fast", "balanced"):
        inverter.invert(vectors[:4], quality=quality)
        began = time.process_time()
        inverter.invert(vectors, quality=quality)
        each = (time.process_time() - began) / len(vectors)
        said = {"quality": quality, "vectors": len(vectors), "precision": inverter.precision()}
        print(json.dumps({**said, "seconds_each": round(each, 5)}), flush=True)


if __name__ == "__main__":
    main()
