"""Which encoder made the vectors, which rows are its, and whether a model that inverts it is at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import EncoderFinding
from unembed.audit.sampled_store import SampledStore
from unembed.encoders.base import Encoder
from unembed.encoders.registry import find_entry
from unembed.errors import UnembedError, UsageError
from unembed.identification import Identification, Verdict, identify
from unembed.inverter import Inverter
from unembed.metrics.cosine import cosines
from unembed.stores.base import Row

SAME = 0.98  # cosine above which a text embedded again is the same vector; eight bits leave more than that


@dataclass(frozen=True)
class ChosenModel:
    """The encoder as far as it is known, and the inverter for it."""

    finding: EncoderFinding
    base: Inverter  # whose words and lengths count, even where it does not fit
    inverter: Inverter | None
    reason: str | None  # why there is no inverter
    encoder: Encoder | None  # the one that made the vectors, where it can be called here
    texts_fit: bool  # whether the store's texts are those of its vectors
    fits: NDArray[np.bool_]  # [n] the sample's rows that are this encoder's

    @property
    def local_encoder(self) -> Encoder | None:
        """The same, but no endpoint: whoever only looks sends no texts away."""
        return self.encoder if _is_local(self.encoder) else None


def choose_model(sample: SampledStore, config: AuditConfig, base: Inverter) -> ChosenModel:
    """Find the encoder out, or take what was given; then whether the model inverts it."""
    own = base.checkpoint.config.encoder.name
    dimension = _dimension(sample.rows)
    rows = [row for row in sample.rows if len(row.vector) == dimension]
    if config.model is not None:
        if config.encoder is not None and config.encoder != own:
            raise UsageError(
                f"The model {config.model} inverts vectors of '{own}', not of '{config.encoder}'.",
                hint="Leave out --encoder, or give a model for it.",
            )
        finding = EncoderFinding(name=own, verdict="given", sure="as given", says=("The model was given.",))
    elif config.encoder is not None:
        find_entry(config.encoder)  # a misspelt name is an error
        finding = EncoderFinding(
            name=config.encoder, verdict="given", sure="as given", says=("The encoder was given.",)
        )
    else:
        finding = _identified(rows, sample.metadata)
    reason = _obstacle(finding, base, dimension)
    encoder = None if reason else _callable_here(base, config)
    texts_fit, fits = _which_rows(sample, dimension, finding, encoder)
    return ChosenModel(finding, base, None if reason else base, reason, encoder, texts_fit, fits)


def _identified(rows: list[Row], metadata: dict[str, str]) -> EncoderFinding:
    vectors = np.stack([row.vector for row in rows])
    texts = [row.text for row in rows] if any(row.text for row in rows) else None
    found: Identification = identify(vectors, texts, metadata=metadata)
    says = [evidence.says for evidence in found.evidence]
    says += [
        f"{one.encoder}: {one.share:.0%} of the compared rows"
        + (f", with {one.preparation}" if one.preparation else "")
        + (f", cut from {one.truncated_from} dimensions" if one.truncated_from else "")
        + "."
        for one in found.candidates
    ]
    own = next((one for one in found.candidates if one.encoder == found.encoder), None)
    return EncoderFinding(
        name=found.encoder,
        verdict=found.verdict.value,
        sure=found.sure,
        preparation=None if own is None else own.preparation,
        says=tuple(says),
    )


def _obstacle(finding: EncoderFinding, base: Inverter, dimension: int) -> str | None:
    """Why the model cannot invert these vectors; None where it can."""
    own = base.checkpoint.config.encoder.name
    if finding.name is None:
        return (
            "It is not known which encoder made these vectors. Name it (--encoder NAME), or give a model "
            "for it (--model FOLDER, made by 'unembed adapt')."
        )
    if finding.name != own:
        return (
            f"No model for '{finding.name}' is at hand. Make one: unembed adapt --encoder {finding.name} "
            "--texts sentences.txt -o FOLDER; then audit with --model FOLDER."
        )
    if base.dimension != dimension:
        return f"The vectors have {dimension} dimensions, those of '{own}' have {base.dimension}."
    return None


def _callable_here(base: Inverter, config: AuditConfig) -> Encoder | None:
    """The encoder itself. Of a paid endpoint only where it was asked for: every guess would be sent there."""
    name = base.checkpoint.config.encoder.name
    asked = config.encoder == name or "encoder" in config.attackers
    try:
        entry = find_entry(name)
        if entry.kind == "api" and not asked:
            return None
        return base.encoder if entry.local or asked else None
    except UnembedError:
        return None


def _which_rows(
    sample: SampledStore, dimension: int, finding: EncoderFinding, encoder: Encoder | None
) -> tuple[bool, NDArray[np.bool_]]:
    """Whether texts and vectors belong together, and which rows are the encoder's."""
    fits = np.array(
        [len(row.vector) == dimension and bool(np.isfinite(row.vector).all()) for row in sample.rows]
    )
    if finding.verdict == Verdict.WRONG_TEXTS.value:
        return False, fits
    if encoder is None or not _is_local(encoder) or finding.preparation is not None:
        return True, fits
    rows = [number for number in fits.nonzero()[0].tolist() if sample.rows[number].text]
    if not rows:
        return True, fits
    again = encoder.encode([sample.rows[number].text or "" for number in rows])  # [m, D]
    near = cosines(np.stack([sample.rows[number].vector for number in rows]), again) >= SAME  # [m]
    if near.mean() < 0.1:  # the texts are others, or changed before they were embedded: no row is better
        return finding.verdict != "given", fits
    fits[np.array(rows)[~near]] = False
    return True, fits


def _is_local(encoder: Encoder | None) -> bool:
    return encoder is not None and not encoder.info.name.startswith("openai:")


def _dimension(rows: tuple[Row, ...]) -> int:
    """The usual one."""
    widths = [len(row.vector) for row in rows]
    return max(set(widths), key=widths.count)
