"""Figures that others published: with the conditions they hold under, and where they stand."""

from __future__ import annotations

from unembed.report.document import Reference

_OTHERS = "Another encoder, other texts and another model than here: a reference, not a comparison."

# The search for a text whose vector comes nearer is Vec2Text's idea (Morris et al., 2023, arXiv:2310.06816).
VEC2TEXT = (
    Reference(
        label="Vec2Text, published",
        values={"exact_match": 0.92},
        conditions=f"Vec2Text with many correction steps, texts of 32 tokens. {_OTHERS}",
        source="Morris et al., Text Embeddings Reveal (Almost) As Much As Text, 2023, abstract",
    ),
    Reference(
        label="Vec2Text, 20 steps",
        values={"exact_match": 0.578},
        conditions="Vec2Text's public corrector for GTR-base, 20 correction steps, no beam, texts of 32 "
        f"tokens of its Natural Questions data's validation side. {_OTHERS}",
        source="a user's run of the public code, in its repository's question 'Reproducing results from "
        "paper', March 2024",
    ),
)
