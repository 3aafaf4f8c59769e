"""Guided search: propose texts with the denoiser, embed them, keep what comes nearer to the vector."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class GuidedSettings(BaseModel):
    """The options of the guided search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str] = "guided"
    # Names that options had before; they are still read.
    OLD_NAMES: ClassVar[dict[str, str]] = {
        "starts": "num_starts",
        "beam": "beam_width",
        "spread": "diversify_after",
        "sweep": "neighbours",
        "words": "words_per_position",
        "missing": "missing_words",
        "scout": "prefilter_ratio",
        "phrasing": "trigram_weight",
        "fluency": "denoiser_weight",
        "phrasing_imitated": "trigram_weight_by_surrogate",
        "fluency_imitated": "denoiser_weight_by_surrogate",
        "near_enough": "target_cosine",
        "steps": "fill_steps",
    }

    max_encoder_calls: int = Field(2000, ge=0, description="Encoder calls per vector, at most.")
    seconds: float = Field(
        0.0, ge=0, description="Seconds after which the search ends, for all vectors together; 0: never."
    )
    num_starts: int = Field(10, ge=1, description="Texts of the plain inversion to start from.")
    start_steps: int = Field(
        4, ge=1, description="Passes per length for them, where no steps are given and an encoder judges."
    )
    refine_starts: int = Field(
        12,
        ge=0,
        le=64,
        description="Rounds in which a surrogate refines those texts first, without a call.",
    )
    beam_width: int = Field(6, ge=1, description="Texts that are edited in each round: the best so far.")
    diversify_after: int = Field(
        6, ge=0, description="Rounds without a nearer text after which the beam holds only unlike texts."
    )
    proposals: int = Field(2, ge=1, description="Random edits per text of the beam and round.")
    random_after: int = Field(
        2,
        ge=0,
        description="Rounds without a nearer text after which random edits begin, where a surrogate ranks "
        "neighbours; 0: from the first round on.",
    )
    neighbours: int = Field(
        12, ge=0, description="Single-edit neighbours of a text of the beam that are embedded per round."
    )
    words_per_position: int = Field(
        10, ge=1, description="Likeliest words per position of a text that make its neighbours."
    )
    words_per_mask: int = Field(
        5,
        ge=1,
        description="One mask per so many words of a text in a forward pass that looks for its neighbours: "
        "the more words, the more passes.",
    )
    missing_words: int = Field(
        150,
        ge=0,
        description="Likely words that a text lacks: each makes a neighbour, in the position that fits best.",
    )
    single_edits: int = Field(
        60,
        ge=0,
        description="Of the likely words, and of those that a text lacks, so many neighbours are read by the "
        "surrogate: the most promising by their words alone; 0: all.",
    )
    moves: int = Field(75, ge=0, description="Neighbours in which a few words stand elsewhere.")
    pairs: int = Field(
        12, ge=0, description="Best-ranked neighbours whose edits are also combined two by two."
    )
    first_look: int = Field(
        3,
        ge=1,
        description="One in N of a text's neighbours, the most promising, is read by the surrogate at the "
        "text's first turn, the others at its second.",
    )
    forms: int = Field(
        4,
        ge=0,
        description="Other ways to write the nearest text (case, spaces, last mark) that are embedded per "
        "round, where the encoder tells them apart.",
    )
    merge: int = Field(
        10, ge=0, description="Texts per round that combine several edits that came nearer, at most."
    )
    prefilter_ratio: int = Field(
        3, ge=1, description="One in N proposals is embedded; the surrogate, if there is one, chooses."
    )
    fill_steps: int = Field(
        4, ge=1, description="Forward passes that fill the masks of an edited text, at most."
    )
    temperature: float = Field(0.8, ge=0, description="Temperature at which the masks are filled.")
    overshoot: float = Field(1.0, ge=0, description="How far beyond the target half of the edits aim.")
    trigram_weight: float = Field(
        0.0005, ge=0, description="What a nat of a text's trigram log-probability is worth in cosine."
    )
    denoiser_weight: float = Field(
        0.004,
        ge=0,
        description="What a unit of the denoiser's score is worth in cosine, where trigrams are not known.",
    )
    trigram_weight_by_surrogate: float = Field(
        0.0015, ge=0, description="The trigrams' weight where a surrogate stands in for the encoder."
    )
    denoiser_weight_by_surrogate: float = Field(
        0.007,
        ge=0,
        description="The denoiser's weight where a surrogate stands in for the encoder, beside trigrams too.",
    )
    refit_below: int = Field(
        100,
        ge=0,
        description="An adapter's map is refitted around each vector, by the texts that its search embeds, "
        "where it was fitted on fewer pairs than this; 0: never.",
    )
    fresh_every: int = Field(
        3, ge=1, description="Rounds until a vector is decoded again, where the map is refitted."
    )
    first_texts: int = Field(
        50,
        ge=20,
        description="Texts of the package that are embedded first, once per run, where an adapter has no map "
        "yet (unembed adapt --pairs 0): encoder calls of every vector's budget.",
    )
    gradient: int = Field(
        0, ge=0, description="Substitutions per text of the beam by a white-box encoder's gradient."
    )
    target_cosine: float = Field(
        0.99999, ge=-1, description="Cosine at which a text counts as found; above 1: never."
    )
    report_at: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), description="Numbers of encoder calls at which the best text until then is reported as well."
    )
    keep_on_interrupt: bool = Field(
        True, description="Ctrl-C ends the search and gives the nearest texts so far, instead of nothing."
    )
    patience: int = Field(20, ge=1, description="Rounds without a new text until the search gives up.")
