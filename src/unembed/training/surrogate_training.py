"""Training a surrogate: a small network learns an encoder's vectors from prepared data.

The loss is one minus the cosine. A step is a pure function of the seed, the step's number and the
weights, as in the inverter's training, so that a run goes on exactly where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from unembed.encoders.bert import BertConfig, Run
from unembed.encoders.fetch import require_fetched
from unembed.encoders.surrogate import (
    CONFIG,
    Surrogate,
    SurrogateConfig,
    SurrogateNetwork,
    load_surrogate,
)
from unembed.errors import MismatchError, UsageError
from unembed.storage import folder_lock
from unembed.training.batch_sampler import BatchSampler
from unembed.training.dataset import TrainingTexts, open_folders
from unembed.training.ema import Average
from unembed.training.log import RunLog
from unembed.training.optimiser import rate_factor, set_rate
from unembed.training.process import keep_freed_memory, stop_requests
from unembed.training.surrogate_config import SurrogateTrainConfig
from unembed.training.trainer_state import Progress, load_state, save_state

VALIDATE = 2000  # texts


Watch = Callable[[str, Progress, dict[str, float]], None]


def train_surrogate(
    config: SurrogateTrainConfig, watch: Watch = lambda kind, progress, figures: None
) -> Surrogate:
    """Train, or go on; the averaged network is written to the output folder and returned."""
    keep_freed_memory()
    with folder_lock(config.output), stop_requests() as stop:
        corpus = open_folders(config.data, min_tokens=1, max_tokens=config.max_tokens)
        folders = corpus.folders
        tokenizer, encoder = folders[0].tokenizer(), folders[0].manifest.encoder
        torch.manual_seed(config.seed)
        network = _network(config, tokenizer, encoder.dimension)
        average = Average(network, config.ema)
        optimiser = _optimiser(network, config)
        identity = {"config": config.lasting(), "data": [data.digest for data in folders]}
        saved = load_state(config.output / "state", network, average.network, optimiser, identity)
        progress = saved or Progress()
        log = RunLog(config.output, from_step=progress.step)
        sampler = BatchSampler(
            corpus.train.lengths, batch=config.batch, groups=config.groups, seed=config.seed
        )

        def surrogate() -> Surrogate:
            training = {"step": progress.step, "seconds": round(progress.seconds, 1), **identity}
            settings = SurrogateConfig(network=network.bert.config, imitates=encoder, training=training)
            return Surrogate(average.network, tokenizer, settings)

        began, before = time.monotonic(), progress.seconds
        while progress.step < config.steps and not stop.is_set():
            set_rate(optimiser, config, rate_factor(config, progress.step, progress.step / config.steps))
            loss = _step(network, corpus.train, sampler[progress.step])
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            average.update(network, progress.step)
            samples = progress.samples + sum(map(len, sampler[progress.step]))
            seconds = before + time.monotonic() - began
            progress = Progress(step=progress.step + 1, seconds=seconds, samples=samples)
            figures = {"cosine": 1.0 - loss.item()}
            if progress.step % config.log_every == 0:
                log.write("train", progress.step, seconds=round(seconds, 1), **figures)
                watch("train", progress, figures)
            if progress.step % config.validate_every == 0 or progress.step == config.steps:
                figures = {"cosine": validate(average.network, corpus.validation)}
                log.write("validation", progress.step, seconds=round(seconds, 1), **figures)
                watch("validation", progress, figures)
            if progress.step % config.save_every == 0 or progress.step == config.steps:
                save_state(config.output / "state", progress, network, average.network, optimiser, identity)
                surrogate().save(config.output / "latest")
        if stop.is_set():
            save_state(config.output / "state", progress, network, average.network, optimiser, identity)
            log.close()
            raise KeyboardInterrupt
        log.close()
        found = surrogate()
        found.save(config.output / "latest")
        return found


def _network(config: SurrogateTrainConfig, tokenizer: Tokenizer, dimension: int) -> SurrogateNetwork:
    network = SurrogateNetwork(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(with_added_tokens=True),
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.ffn,
            max_position_embeddings=config.max_tokens,
        ),
        dimension,
    )
    network.initialise()
    if config.start is not None and (Path(config.start) / CONFIG).exists():
        _take_all(network, tokenizer, Path(config.start))
    elif config.start is not None:
        _take_words(network, tokenizer, config.start)
    return network


def _take_all(network: SurrogateNetwork, tokenizer: Tokenizer, folder: Path) -> None:
    """Go on from another surrogate: on more texts, or longer ones."""
    other = load_surrogate(folder, device="cpu")
    if other.tokenizer().get_vocab() != tokenizer.get_vocab():
        raise MismatchError(
            f"The surrogate in {folder} has another vocabulary than the data.",
            hint="Start from one that was trained on data of the same encoder.",
        )
    theirs = other.config.network
    if theirs != network.bert.config:
        raise MismatchError(
            f"The surrogate in {folder} has another shape than the one to be trained.",
            hint=f"Give its own: --hidden {theirs.hidden_size} --layers {theirs.num_hidden_layers} "
            f"--heads {theirs.num_attention_heads} --ffn {theirs.intermediate_size} "
            f"--max-tokens {theirs.max_position_embeddings}",
        )
    network.load_state_dict(other.network.state_dict())


@torch.no_grad()
def _take_words(network: SurrogateNetwork, tokenizer: Tokenizer, name: str) -> None:
    """Begin with a static encoder's token vectors, for the tokens that both know."""
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


def _step(network: SurrogateNetwork, texts: TrainingTexts, groups: list[np.ndarray]) -> Tensor:
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
    return 1.0 - float(_step(network, texts, groups))
