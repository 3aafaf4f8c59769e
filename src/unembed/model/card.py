"""The model card: what a checkpoint is, in words, from what its configuration says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unembed.model.adapter import AdapterConfig
    from unembed.model.checkpoint import CheckpointConfig

_CARD = """\
---
library_name: unembed
license: {license}
tags:
- embedding-inversion
- masked-diffusion
---

# An inverter for {encoder}

Recovers text from vectors of `{encoder}` ({dimension} dimensions, {pooling} pooling), without the encoder: a
conditional masked diffusion language model that starts from masks and reveals tokens, steered by the vector
alone.

```python
from unembed import Inverter

Inverter.from_pretrained("PATH OR HUB ID").invert(vectors)
```

| | |
|---|---|
| vectors | `{encoder}`, weights sha256 `{digest}` |
| shape | {layers} blocks of width {hidden}, vocabulary {vocabulary:,}, texts up to {max_length} tokens |
| length | {length} |
| trained | {training} |
| licence | {licence}; of its encoder: {encoder_licence} |
{more}
## What it cannot do

It knows the vectors of one encoder: on those of another it writes fluent nonsense, and `unembed invert`
warns when vectors do not look right. It cannot produce tokens outside its vocabulary, nor texts of lengths
that it never saw. A recovered text is a guess; its score says how sure the model was, not whether it is true.

## Responsible use

It is published so that people can measure how much the vectors they are responsible for give away. Treat
stored embeddings like the text that they were made of.
"""


def model_card(config: CheckpointConfig, more: str = "") -> str:
    """README.md of a checkpoint. Figures are not invented here: `more` brings what was measured."""
    training, settings = config.training, config.training.get("config", {})
    trained = "not recorded"
    if {"step", "samples", "texts", "seconds"} <= training.keys():
        top = settings.get("max_tokens") or settings.get("max_length")
        trained = (
            f"{training['step']:,} steps, {training['samples']:,} samples of {training['texts']:,} texts of "
            f"{settings.get('min_tokens')} to {top} tokens, {training['seconds'] / 60:.0f} minutes"
        )
    denoiser = config.denoiser
    return _CARD.format(
        license=json.dumps(config.licence, ensure_ascii=False) if config.licence else "unknown",
        licence=config.licence or "unknown: its maker has not stated one",
        encoder_licence=config.encoder.licence,
        encoder=config.encoder.name,
        dimension=config.encoder.dimension,
        pooling=config.encoder.pooling,
        digest=config.encoder.digest,
        layers=denoiser.layers,
        hidden=denoiser.block.hidden,
        vocabulary=denoiser.vocabulary,
        max_length=denoiser.max_length,
        length="predicted from the vector" if denoiser.length == "given" else "fixed, the end is a token",
        training=trained,
        more=f"\n{more}\n" if more else "",
    )


_ADAPTER_CARD = """\
---
library_name: unembed
license: {license}
tags:
- embedding-inversion
- adapter
---

# An adapter for {encoder}

Lets an inverter that learnt from another encoder's vectors read those of `{encoder}` ({dimension}
dimensions): {fitted}

```python
from unembed import Inverter

Inverter.from_pretrained("PATH OR HUB ID").invert(vectors{how})
```

| | |
|---|---|
| vectors | `{encoder}`, sha256 `{digest}` |
| base | `{base}`, weights sha256 `{base_digest}` |
| variance of the base's standardised vectors that the map explains, leave-one-out | {explained:.1%} |
{tuned}| licence | {licence}; of its encoder: {encoder_licence} |
{more}
## What it cannot do

The mapped vector is blurred: fewer texts come back word for word than with a model that was trained for this
encoder. What the base cannot write (its vocabulary, its length, capital letters) cannot come back.

## Responsible use

It is published so that people can measure how much the vectors they are responsible for give away. Treat
stored embeddings like the text that they were made of.
"""


_FITTED = "a linear map in front of it, fitted on {pairs:,} texts and their vectors."
_UNFITTED = """a linear map in front of it, which is not fitted yet. Every guided search fits it anew, on
texts that it embeds; without the encoder it reads nothing."""


def adapter_card(config: AdapterConfig, more: str = "") -> str:
    """README.md of an adapter."""
    found = config.fine_tuning
    tuned = ""
    if found is not None:
        tuned = (
            f"| fine-tuning | {found.minutes:g} minutes, {found.samples:,} samples: words found of "
            f"{found.aside:,} pairs set aside {found.words_before:.1%} before, "
            f"{found.words_after:.1%} after; "
            f"{'kept' if found.kept else 'not kept'} |\n"
        )
    return _ADAPTER_CARD.format(
        license=json.dumps(config.licence, ensure_ascii=False) if config.licence else "unknown",
        licence=config.licence or "unknown: its maker has not stated one",
        encoder=config.encoder.name,
        dimension=config.encoder.dimension,
        digest=config.encoder.digest,
        encoder_licence=config.encoder.licence,
        base=config.base.name,
        base_digest=config.base.digest,
        fitted=_FITTED.format(pairs=config.fit.get("pairs", 0)) if config.has_map else _UNFITTED,
        how="" if config.has_map else ', strategy="guided"',
        explained=config.fit.get("explained", 0.0),
        tuned=tuned,
        more=f"\n{more}\n" if more else "",
    )
