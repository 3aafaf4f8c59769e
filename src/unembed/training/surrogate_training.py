"""Training a surrogate: a small network learns an encoder's vectors from prepared data.

The loss is one minus the cosine. A step is a pure function of the seed, the step's number and the
weights, as in the inverter's training, so that a run that was stopped and resumed ends with the same weights.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from unembed.compute.memory import keep_freed_memory
from unembed.encoders import Encoder, EncoderInfo, load_encoder
from unembed.encoders.bert import Bert, BertBlock, BertConfig, Run
from unembed.encoders.fetch import require_fetched
from unembed.encoders.surrogate_encoder import (
    CONFIG,
    WEIGHTS,
    Surrogate,
    SurrogateConfig,
    SurrogateNetwork,
    load_surrogate,
)
from unembed.errors import MismatchError, UsageError
from unembed.storage import atomic_folder, folder_lock, read_json
from unembed.training.batch_sampler import BatchSampler
from unembed.training.bf16_layers import Bf16Layers
from unembed.training.dataset import TrainingTexts, open_folders
from unembed.training.ema import Average
from unembed.training.log import RunLog
from unembed.training.optimiser import rate_factor, set_rate
from unembed.training.process import stop_requests
from unembed.training.surrogate_config import SurrogateTrainConfig
from unembed.training.trainer_state import Progress, load_state, save_state, started

VALIDATE = 2000  # texts
OWN_ENCODER = "encoder"  # what starts from the data's own


Watch = Callable[[str, Progress, dict[str, float]], None]


def train_surrogate(
    config: SurrogateTrainConfig, watch: Watch = lambda kind, progress, figures: None
) -> Surrogate:
    """Train, or resume; the averaged network is written to the output folder and returned."""
    keep_freed_memory()
    with folder_lock(config.output), stop_requests() as stop:
        run = _SurrogateRun(config, watch)
        try:
            while run.progress.step < config.steps and not stop.is_set():
                loss = run.update()
                run.report(loss)
            if stop.is_set():
                run.save_state()
                raise KeyboardInterrupt
        finally:
            run.close()
        return run.save_surrogate()


class _SurrogateRun:
    """Everything that lasts from step to step."""

    def __init__(self, config: SurrogateTrainConfig, watch: Watch) -> None:
        self.config, self._watch = config, watch
        self.corpus = open_folders(config.data, min_tokens=1, max_tokens=config.max_tokens)
        folders = self.corpus.folders
        self.tokenizer, self.encoder = folders[0].tokenizer(), folders[0].manifest.encoder
        torch.manual_seed(config.seed)
        self.network = _network(config, self.tokenizer, self.encoder)
        self.average = Average(self.network, config.ema)
        self.optimiser = _optimiser(self.network, config)
        self._identity = {"config": _lasting(config), "data": [data.digest for data in folders]}
        restored = load_state(
            config.output / "state", self.network, self.average.network, self.optimiser, self._identity
        )
        self.progress = started(restored, config.precision, torch.device("cpu"))
        in_bf16 = self.progress.precision == "bf16"
        self._learning: nn.Module = Bf16Layers(self.network) if in_bf16 else self.network
        self._log = RunLog(config.output, from_step=self.progress.step)
        self._began = time.monotonic() - self.progress.seconds
        self.sampler = BatchSampler(
            self.corpus.train.lengths,
            batch=config.batch,
            groups=config.groups,
            seed=config.seed,
            repeats=self.corpus.train.repeats(config.source_alpha),
        )

    def update(self) -> float:
        """Forward, backward, clip, step, average; the loss."""
        step, texts = self.progress.step, self.sampler[self.progress.step]
        set_rate(self.optimiser, self.config, rate_factor(self.config, step, step / self.config.steps))
        loss = _loss(self._learning, self.corpus.train, texts)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.average.update(self.network, step)
        samples, seconds = self.progress.samples + sum(map(len, texts)), time.monotonic() - self._began
        done = {"step": step + 1, "seconds": seconds, "samples": samples}
        self.progress = self.progress.model_copy(update=done)
        return loss.item()

    def report(self, loss: float) -> None:
        """Log, validate and save when it is time."""
        config, step = self.config, self.progress.step
        last = step == config.steps
        if step % config.log_every == 0:
            self._tell("train", 1.0 - loss)
        if step % config.validate_every == 0 or last:
            self._tell("validation", validate(self.average.network, self.corpus.validation))
        if step % config.save_every == 0 or last:
            self.save_state()
            self.save_surrogate()

    def _tell(self, kind: str, cosine: float) -> None:
        seconds = round(self.progress.seconds, 1)
        self._log.write(kind, self.progress.step, seconds=seconds, cosine=cosine)
        self._watch(kind, self.progress, {"cosine": cosine})

    def save_state(self) -> None:
        """All that is needed to resume from here."""
        states, average = self.config.output / "state", self.average.network
        save_state(states, self.progress, self.network, average, self.optimiser, self._identity)

    def save_surrogate(self) -> Surrogate:
        """The averaged network as an encoder, in `latest/`."""
        seconds = round(self.progress.seconds, 1)
        training = {"step": self.progress.step, "seconds": seconds, **self._identity}
        settings = SurrogateConfig(network=self.network.bert.config, encoder=self.encoder, training=training)
        found = Surrogate(self.average.network, self.tokenizer, settings)
        with atomic_folder(self.config.output / "latest") as fresh:
            found.save(fresh)
        return found

    def close(self) -> None:
        """Nothing more will be logged."""
        self._log.close()


def _lasting(config: SurrogateTrainConfig) -> dict[str, Any]:
    """The settings that a resumed run shares; a surrogate to start from by its digest, wherever it lies."""
    lasting = config.lasting()
    if config.start is not None and (Path(config.start) / CONFIG).exists():
        lasting["start"] = SurrogateConfig.model_validate(read_json(Path(config.start) / CONFIG)).digests[
            WEIGHTS
        ]
    return lasting


def _network(config: SurrogateTrainConfig, tokenizer: Tokenizer, encoder: EncoderInfo) -> SurrogateNetwork:
    network = SurrogateNetwork(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(with_added_tokens=True),
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.ffn,
            max_position_embeddings=config.max_tokens,
        ),
        encoder.dimension,
    )
    network.initialise()
    if config.start is not None and (Path(config.start) / CONFIG).exists():
        _take_all(network, tokenizer, Path(config.start))
    elif config.start == OWN_ENCODER:
        _take_tokens(network, tokenizer, load_encoder(encoder.name), encoder)
    elif config.start is not None:
        _take_words(network, tokenizer, config.start)
    return network


def _take_all(network: SurrogateNetwork, tokenizer: Tokenizer, folder: Path) -> None:
    """Start from another surrogate: train it on more texts, or longer ones."""
    other = load_surrogate(folder, device="cpu")
    if other.tokenizer().get_vocab() != tokenizer.get_vocab():
        raise MismatchError(
            f"The surrogate in {folder} has another vocabulary than the data.",
            hint="Start from one that was trained on data of the same encoder.",
        )
    theirs, layers = other.config.network, network.bert.config.num_hidden_layers
    same = theirs.model_copy(update={"num_hidden_layers": layers}) == network.bert.config
    if not same or theirs.num_hidden_layers > layers:
        raise MismatchError(
            f"The surrogate in {folder} has another shape than the one to be trained.",
            hint=f"Give its own: --hidden {theirs.hidden_size} --layers {theirs.num_hidden_layers} "
            f"--heads {theirs.num_attention_heads} --ffn {theirs.intermediate_size} "
            f"--max-tokens {theirs.max_position_embeddings}; only --layers may be more.",
        )
    fresh = [copy.deepcopy(block) for block in network.bert.blocks if isinstance(block, BertBlock)]
    deepen(other.network.bert, fresh[theirs.num_hidden_layers :])
    network.load_state_dict(other.network.state_dict())


@torch.no_grad()
def deepen(bert: Bert, fresh: Sequence[BertBlock]) -> None:
    """Put fresh blocks between a BERT's own, from the last one down. It stays the same function.

    What a fresh block adds is zero at first, and its norms leave alone a state that the block before has
    normalised: that block's scale and shift move behind the fresh one.
    """
    old = [block for block in bert.blocks if isinstance(block, BertBlock)]
    for number, block in enumerate(fresh):
        before = old[-1 - number % len(old)]
        for layer in (block.out, block.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        block.norm2.load_state_dict(before.norm2.state_dict())
        for norm in (block.norm1, before.norm2):
            nn.init.ones_(norm.weight)
            nn.init.zeros_(norm.bias)
        bert.blocks.insert(list(bert.blocks).index(before) + 1, block)


@torch.no_grad()
def _take_words(network: SurrogateNetwork, tokenizer: Tokenizer, name: str) -> None:
    """Start from a static encoder's token vectors, for the tokens that both know."""
    folder = require_fetched(name)
    table = load_file(folder / "model.safetensors")["embeddings"].float()  # [V', D]
    words = network.bert.words.weight  # [V, D]
    if table.shape[1] != words.shape[1]:
        raise UsageError(
            f"The token vectors of {name} have {table.shape[1]} dimensions, the network {words.shape[1]}.",
            hint=f"Give --hidden {table.shape[1]}.",
        )
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    ours = tokenizer.get_vocab()
    shared = sorted(ours.keys() & theirs.keys())
    rows = torch.tensor([ours[word] for word in shared])
    found = table[torch.tensor([theirs[word] for word in shared])]
    _put_words(words, rows, found)


@torch.no_grad()
def _take_tokens(
    network: SurrogateNetwork, tokenizer: Tokenizer, encoder: Encoder, learnt: EncoderInfo
) -> None:
    """Start from what the encoder says of each token alone, in its vectors' first principal directions."""
    if encoder.info.digest != learnt.digest:
        raise MismatchError(
            f"The encoder '{learnt.name}' here is not the one that made the data.",
            hint=f"Prepare the data again, or give another --start than {OWN_ENCODER}.",
        )
    words = network.bert.words.weight  # [V, W]
    if words.shape[1] > learnt.dimension:
        raise UsageError(
            f"{learnt.name} has vectors of {learnt.dimension} numbers; the network is {words.shape[1]} wide.",
            hint=f"Give --hidden {learnt.dimension} or less.",
        )
    written = [tokenizer.decode([row]).strip() for row in range(words.shape[0])]
    rows = torch.tensor([row for row, text in enumerate(written) if text])
    vectors = torch.from_numpy(encoder.encode([text for text in written if text]))  # [N, D]
    centred = vectors - vectors.mean(dim=0)
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1)  # [D, D], the widest first
    _put_words(words, rows, centred @ directions[:, : words.shape[1]])


def _put_words(words: Tensor, rows: Tensor, found: Tensor) -> None:
    # At the size of the random ones: the norm that follows sees them beside the positions.
    words[rows] = found * (words.std() / found.std())


def _optimiser(network: SurrogateNetwork, config: SurrogateTrainConfig) -> torch.optim.AdamW:
    matrices = [weight for name, weight in network.named_parameters() if _decays(name, weight)]
    others = [weight for name, weight in network.named_parameters() if not _decays(name, weight)]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay, "factor": 1.0},
        {"params": others, "weight_decay": 0.0, "factor": 1.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98), fused=True)


def _decays(name: str, weight: Tensor) -> bool:
    return weight.ndim >= 2 and "words" not in name and "positions" not in name


def _loss(network: nn.Module, texts: TrainingTexts, groups: list[np.ndarray]) -> Tensor:
    """One minus the mean cosine of a batch."""
    ids, runs, targets = [], [], []
    for group in groups:
        tokens = texts.tokens(group)  # [n, L], all of one length
        ids.append(tokens.ravel())
        runs.append(Run(*tokens.shape))
        targets.append(texts.vectors(group))
    vectors = network(torch.from_numpy(np.concatenate(ids)), runs)  # [B, D]
    target = torch.nn.functional.normalize(torch.from_numpy(np.concatenate(targets)), dim=1)  # [B, D]
    loss: Tensor = 1.0 - (vectors * target).sum(dim=1).mean()
    return loss


@torch.no_grad()
def validate(network: SurrogateNetwork, texts: TrainingTexts) -> float:
    """The mean cosine on validation texts, of every folder its share."""
    chosen = np.unique(np.linspace(0, len(texts) - 1, min(VALIDATE, len(texts)), dtype=np.int64))
    groups = [chosen[texts.lengths[chosen] == length] for length in np.unique(texts.lengths[chosen])]
    return 1.0 - float(_loss(network, texts, groups))
