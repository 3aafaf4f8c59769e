"""Tiny, randomly initialised sentence-transformers models of the named ones' architectures.

Only the sizes differ: the classes, pooling, prompts and heads are those of the published models.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

WIDTH = 32
MAX_TOKENS = 64


def train_tokenizer(begin: str | None, end: str | None) -> Any:
    """A byte-level BPE of a few hundred entries: every Unicode text has tokens."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<pad>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["the cat sat on the mat", "a dog ran over the road"] * 10, trainer)
    template = " ".join(part for part in (begin, "$A", end) if part)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[(token, specials.index(token)) for token in specials]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def qwen3(folder: Path) -> Path:
    """Qwen3-Embedding: a causal decoder, the last token's vector, padded on the left."""
    from transformers import Qwen3Config, Qwen3Model

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=320, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=256, pad_token_id=0,
    )  # fmt: skip
    tokenizer = train_tokenizer(None, "</s>")
    tokenizer.padding_side = "left"
    prompts = {"query": "Instruct: find it\nQuery:", "document": ""}
    return _save(Qwen3Model(config), tokenizer, folder, pooling="lasttoken", prompts=prompts)


def xlm_roberta(folder: Path) -> Path:
    """jina-embeddings-v3 without its own code (adapters, rotary positions), which only the hub has."""
    from transformers import XLMRobertaConfig, XLMRobertaModel

    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=320, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=130, pad_token_id=0, type_vocab_size=1,
    )  # fmt: skip
    return _save(XLMRobertaModel(config), train_tokenizer("<s>", "</s>"), folder, pooling="mean")


def gemma3(folder: Path) -> Path:
    """EmbeddingGemma: Gemma 3 that looks both ways, mean pooling, two dense layers."""
    from sentence_transformers.sentence_transformer.modules import Dense
    from transformers import Gemma3TextConfig, Gemma3TextModel

    torch.manual_seed(0)
    config = Gemma3TextConfig(
        vocab_size=320, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=256, sliding_window=16, pad_token_id=0,
        use_bidirectional_attention=True,
    )  # fmt: skip
    identity = torch.nn.Identity()
    dense = [
        Dense(WIDTH, 4 * WIDTH, bias=False, activation_function=identity),
        Dense(4 * WIDTH, WIDTH, bias=False, activation_function=identity),
    ]
    prompts = {"query": "task: search result | query: ", "document": "title: none | text: "}
    tokenizer = train_tokenizer("<s>", "</s>")
    return _save(
        Gemma3TextModel(config), tokenizer, folder, pooling="mean", prompts=prompts, extra_modules=dense
    )


def with_own_code(folder: Path) -> Path:
    """A model whose first module is a class from its own folder and takes a task, as jina's does."""
    folder = xlm_roberta(folder)
    (folder / "custom_st.py").write_text(
        "from sentence_transformers.sentence_transformer.modules import Transformer as Base\n"
        "class Transformer(Base):\n"
        "    def forward(self, features, task=None, **kwargs):\n"
        "        features = super().forward(features, **kwargs)\n"
        "        if task == 'retrieval.passage':\n"
        "            features['token_embeddings'] = features['token_embeddings'].flip(-1)\n"
        "        return features\n",
        encoding="utf-8",
    )
    modules = json.loads((folder / "modules.json").read_text())
    modules[0] |= {"type": "custom_st.Transformer", "kwargs": ["task"]}
    (folder / "modules.json").write_text(json.dumps(modules))
    settings = json.loads((folder / "config_sentence_transformers.json").read_text())
    settings["prompts"] = {"retrieval.passage": "", "text-matching": ""}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


def _save(
    network: Any,
    tokenizer: Any,
    folder: Path,
    *,
    pooling: str,
    prompts: dict[str, str] | None = None,
    extra_modules: list[Any] | None = None,
) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    network.save_pretrained(folder / "network")
    tokenizer.save_pretrained(folder / "network")
    modules = [
        Transformer(str(folder / "network"), max_seq_length=MAX_TOKENS),
        Pooling(WIDTH, pooling_mode=pooling),
        *(extra_modules or []),
        Normalize(),
    ]
    model = SentenceTransformer(modules=modules, prompts=prompts, device="cpu")
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


BUILDERS: dict[str, Callable[[Path], Path]] = {
    "qwen3": qwen3,
    "xlm-roberta": xlm_roberta,
    "gemma3": gemma3,
}
