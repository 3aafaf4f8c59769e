"""A line that says that a search restores capitals and spaces, and what it cost to find out."""

from __future__ import annotations

from unembed.encoders.base import Encoder
from unembed.encoders.written_differences import written_differences
from unembed.model.checkpoint import Checkpoint
from unembed.search.guided_strategy import make_writer


def forms_note(checkpoint: Checkpoint, encoder: Encoder) -> str | None:
    """What to tell before a search with this encoder; None where it reads texts as the model writes them."""
    if make_writer(checkpoint, encoder) is None:
        return None
    found = written_differences(encoder)
    apart = " and ".join(
        name for name, differs in (("capitals", found.case), ("spaces", found.spacing)) if differs
    )
    return f"{encoder.info.name} tells {apart} apart ({found.calls} texts asked): the search restores them."
