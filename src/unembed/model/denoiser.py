"""The denoiser: tokens with masks, a time and a vector in; a distribution over tokens out.

The work is divided by what it depends on. `prepare` reads the vector, once per sequence. `hidden` runs
the blocks, once per denoising step. `logits` is computed only at the positions that need it. `forward`
is the three in a row. What makes them faster is in `fast/`.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear, linear
from unembed.model.blocks import Block, embedding, layer_norm
from unembed.model.condition import Condition, Standardise
from unembed.model.config import DenoiserConfig
from unembed.model.fast.few_positions import block_at
from unembed.model.lexical import LexicalHead
from unembed.model.words_left import WordsLeft

if TYPE_CHECKING:
    from unembed.model.fast.candidate_softmax import CandidateWeights


class Prepared(NamedTuple):
    """All that depends only on the vectors (and lengths) of a batch."""

    lengths: Tensor  # [B]
    modulation: Tensor  # [B, layers, 4, D]
    lexical: Tensor | None  # [B, V], or [B, C] where candidates were given
    memory: tuple[tuple[Tensor, Tensor], ...] | None  # per layer: keys and values [B, heads, K, D/heads]

    def split(self, sizes: list[int]) -> list[Prepared]:
        """Consecutive parts of the batch, of these sizes."""
        count = len(sizes)
        lexical = [None] * count if self.lexical is None else torch.split(self.lexical, sizes)
        memory: list[tuple[tuple[Tensor, Tensor], ...] | None] = [None] * count
        if self.memory is not None:
            layers = [zip(torch.split(k, sizes), torch.split(v, sizes), strict=True) for k, v in self.memory]
            memory = list(zip(*layers, strict=True))
        lengths, modulation = torch.split(self.lengths, sizes), torch.split(self.modulation, sizes)
        return [Prepared(*part) for part in zip(lengths, modulation, lexical, memory, strict=True)]

    def select(self, rows: Tensor) -> Prepared:
        """The same for some of the sequences, in the order of `rows` (repeats allowed)."""
        return Prepared(
            self.lengths[rows],
            self.modulation[rows],
            None if self.lexical is None else self.lexical[rows],
            None if self.memory is None else tuple((k[rows], v[rows]) for k, v in self.memory),
        )


class Denoiser(nn.Module):
    """The conditional masked diffusion language model."""

    def __init__(self, config: DenoiserConfig) -> None:
        super().__init__()
        self.config = config
        hidden = config.block.hidden
        self.token = embedding(config.vocabulary + 1, hidden)  # the last row is [MASK]
        self.position = None if config.block.rotary else embedding(config.max_length, hidden)
        self.input_norm = layer_norm(config.block)
        self.standardise = Standardise(config.vector_dim, config.native_dim)
        self.condition = Condition(config)
        self.blocks = nn.ModuleList(Block(config.block, layer) for layer in range(config.layers))
        # Post-norm blocks end with a norm of their own.
        self.output_norm = layer_norm(config.block) if config.block.norm == "pre" else nn.Identity()
        self.transform = PackedLinear(hidden, hidden) if config.head_transform else None
        self.transform_norm = layer_norm(config.block) if config.head_transform else None
        self.output_bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.lexical = (
            LexicalHead(config.standard_dim, config.lexical_hidden, config.vocabulary)
            if config.lexical_hidden
            else None
        )
        self.words_left = (
            WordsLeft(config.vocabulary, config.repeat_penalty) if config.lexical_hidden else None
        )
        self.memory_score = nn.Linear(1, hidden) if config.memory else None
        self.length_head = (
            nn.Sequential(
                nn.Linear(config.standard_dim, config.length_hidden),
                nn.GELU(),
                nn.Linear(config.length_hidden, config.max_length + 1),
            )
            if config.length == "given"
            else None
        )
        if not self.output_bias.is_meta:
            self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """All initialisation; a pretrained backbone then overwrites its part."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        self.condition.initialise()
        if self.lexical is not None:
            self.lexical.initialise()
        if self.transform is not None:
            nn.init.eye_(self.transform.weight)
        if self.memory_score is not None:
            nn.init.zeros_(self.memory_score.weight)

    def forward(
        self, xt: Tensor, t: Tensor, vectors: Tensor, lengths: Tensor, padding: Tensor | None = None
    ) -> Tensor:
        """The whole model in one call: logits at every masked position, row by row.  # [M, V]

        xt: [B, L] tokens and masks; t: [B]; vectors: [B, vector_dim]; lengths: [B]; padding: [B, L] true
        beyond a sequence's length. Decoding calls the three parts itself, and `prepare` only once.
        """
        at = (xt == self.config.mask_id).flatten().nonzero().squeeze(1)  # [M]
        prepared = self.prepare(vectors, lengths)
        h = self.hidden(xt, t, prepared, padding, at=at)  # [M, D]
        return self.logits(h, at // xt.shape[1], prepared, xt=xt, padding=padding)

    def prepare(
        self,
        vectors: Tensor,
        lengths: Tensor,
        *,
        candidates: CandidateWeights | None = None,
        dropped: Tensor | None = None,
    ) -> Prepared:
        """Read the vectors, once per sequence.

        vectors: [B, vector_dim]; lengths: [B]; candidates: the only words that training asks for;
        dropped: [B] samples that must do without their vector (classifier-free guidance).
        """
        e = self.read(vectors)  # [B, vector_dim]
        modulation = self.condition(e, lengths, dropped)  # [B, layers, 4, D]
        if self.lexical is None:
            return Prepared(lengths, modulation, None, None)
        rows = None if candidates is None else candidates.lexical
        lexical = self.lexical(e, rows)  # [B, V or C]
        if dropped is not None:
            # Without its vector a sample knows the words' frequencies and nothing more.
            frequent = self.lexical.down.bias if rows is None else rows[1]  # [V or C]
            lexical = torch.where(dropped[:, None], frequent.to(lexical.dtype), lexical)
        return Prepared(lengths, modulation, lexical, self._remember(lexical, candidates))

    def read(self, vectors: Tensor) -> Tensor:
        """What condition and heads read: the vectors standardised.  # [B, vector_dim]"""
        out: Tensor = self.standardise(vectors)
        return out.to(self.dtype)

    def reading_standardised(self) -> Denoiser:
        """The same blocks, given what `read` makes of vectors instead of vectors; nothing is copied.

        A search that refits an adapter's map has another map for every target.
        """
        out = copy.copy(self)
        out._modules = dict(self._modules)
        out.standardise = nn.Identity()  # type: ignore[assignment]
        dim = self.config.standard_dim
        out.config = self.config.model_copy(update={"vector_dim": dim, "native_dim": None})
        return out

    @property
    def dtype(self) -> torch.dtype:
        """What the linear layers compute in; tables, norms and standardisation stay in float32."""
        return self.condition.project_in.weight.dtype

    def embed(self, entries: Tensor) -> Tensor:
        """The tokens' vectors, [MASK] included.  # [B, L, D]"""
        out: Tensor = self.token(entries)
        return out

    def _remember(
        self, lexical: Tensor, candidates: CandidateWeights | None
    ) -> tuple[tuple[Tensor, Tensor], ...] | None:
        """The likeliest words as tokens that every block attends to, so that it can put them in order."""
        if self.memory_score is None:
            return None
        size = min(self.config.memory, lexical.shape[1])
        score, word = lexical.detach().topk(size, dim=1)  # [B, K]
        table = self.token.weight if candidates is None else candidates.token
        relative = (score - score.mean(dim=1, keepdim=True))[..., None]  # [B, K, 1]
        words: Tensor = self.input_norm(F.embedding(word, table)).to(self.dtype)  # [B, K, D]
        tokens = words + self.memory_score(relative)  # [B, K, D]
        return tuple(block.attention.keys_values(tokens) for block in self.blocks)  # type: ignore[operator, union-attr]

    def hidden(
        self,
        xt: Tensor,
        t: Tensor,
        prepared: Prepared,
        padding: Tensor | None = None,
        *,
        at: Tensor | None = None,
        embedded: Tensor | None = None,
    ) -> Tensor:
        """Run the blocks: the state at every position [B, L, D], or only at those asked for [M, D].

        xt: [B, L] tokens and masks; t: [B]; padding: [B, L] true beyond a sequence's length;
        at: [M] positions in the flattened [B * L]: the last block then computes no others;
        embedded: [B, L, D] the tokens' vectors, where they have been looked up already.
        """
        h = self.embed(xt) if embedded is None else embedded  # [B, L, D]
        if self.position is not None:
            h = h + self.position.weight[: xt.shape[1]]
        h = self.input_norm(h).to(self.dtype)
        modulation = self.condition.at_time(prepared.modulation, t)  # [B, layers, 4, D]
        last = len(self.blocks) - 1
        for layer, block in enumerate(self.blocks):
            memory = None if prepared.memory is None else prepared.memory[layer]
            if at is not None and layer == last:
                h = block_at(block, h, modulation[:, layer], at, padding, memory)  # type: ignore[arg-type]
            else:
                h = block(h, modulation[:, layer], padding, memory)
        out: Tensor = self.output_norm(h)
        return out

    def logits(
        self, h: Tensor, rows: Tensor, prepared: Prepared, *, xt: Tensor, padding: Tensor | None = None
    ) -> Tensor:
        """Logits at chosen positions: h [M, D] of the sequences `rows` [M] of xt [B, L].  # [M, V]"""
        logits, words = self.readout(h), self.words(prepared, xt, padding=padding)
        return logits if words is None else logits + words[rows]

    def readout(self, h: Tensor) -> Tensor:
        """The blocks' part of the logits, tied to the input embedding.  # [M, V]"""
        features = self.features(h)  # [M, D]
        weight, bias = self.token.weight.to(features.dtype), self.output_bias.to(features.dtype)
        return linear(features, weight, bias, last=self.config.vocabulary)

    def words(
        self,
        prepared: Prepared,
        xt: Tensor,
        candidates: CandidateWeights | None = None,
        *,
        padding: Tensor | None = None,
    ) -> Tensor | None:
        """The lexical head's part, the same at every masked position of a sequence.  # [B, V or C]"""
        if prepared.lexical is None or self.words_left is None:
            return None
        column = None if candidates is None else candidates.column
        # The lexical head has a loss of its own; the blocks' errors must not bend it.
        masked = xt == self.config.mask_id  # [B, L]
        out: Tensor = self.words_left(prepared.lexical.detach(), xt, masked, column, padding)
        return out

    def features(self, h: Tensor) -> Tensor:
        """What the tied output layer reads: the hidden state, or its transform.  # [M, D]"""
        if self.transform is None or self.transform_norm is None:
            return h
        out: Tensor = self.transform_norm(F.gelu(self.transform(h)))
        return out

    def length_logits(self, vectors: Tensor) -> Tensor:
        """How long the text was, from its vector alone.  # [B, max_length + 1]"""
        if self.length_head is None:
            raise TypeError("this model has a fixed length and no length head")
        out: Tensor = self.length_head(self.read(vectors))
        return out
