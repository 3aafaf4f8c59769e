"""Adapters that come with the package: one for each encoder that `unembed encoders fetch` brings.

They are named by their encoder, so that `--model gte-small` is an inverter for gte-small. Looking at them
loads no torch. One that was fitted for another version of the bundled model is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unembed.encoders.registry import DEFAULT, ENTRIES
from unembed.errors import UsageError
from unembed.model.bundled import BUNDLED
from unembed.storage import read_json

SHIPPED = Path(__file__).parents[1] / "assets" / "adapters"


@dataclass(frozen=True)
class ShippedAdapter:
    """One of them, by what its adapter.json says."""

    name: str
    folder: Path
    encoder: str
    dimension: int
    digest: str  # of the encoder
    measured: tuple[dict[str, Any], ...]  # what it recovers of several kinds of text

    @property
    def token_f1(self) -> float | None:
        """Its mean over the kinds of text that it was measured on."""
        found = [kind["token_f1"]["value"] for kind in self.measured]
        return sum(found) / len(found) if found else None

    @property
    def samples(self) -> int:
        """Texts that it was measured on."""
        return sum(kind["n"] for kind in self.measured)


def shipped_adapters(home: Path = SHIPPED, bundled: Path = BUNDLED) -> dict[str, ShippedAdapter]:
    """Those that fit the bundled model, by name."""
    if not home.is_dir() or not (bundled / "config.json").is_file():
        return {}
    base = read_json(bundled / "config.json")["digests"]["model.safetensors"]
    found = {}
    for path in sorted(home.glob("*/adapter.json")):
        described = read_json(path)
        if described["base"]["digest"] == base:
            name, encoder = path.parent.name, described["encoder"]
            found[name] = ShippedAdapter(
                name,
                path.parent,
                encoder["name"],
                encoder["dimension"],
                encoder["digest"],
                tuple(described.get("measured", ())),
            )
    return found


def shipped_folder(name: str) -> Path | None:
    """The folder of the inverter that comes with the package for an encoder, by the encoder's name.

    e5-small is e5-small#passage too. None for what is no encoder of the registry; an error with the command
    that makes an adapter, for one that none ships for.
    """
    for adapter in shipped_adapters().values():
        if name in (adapter.name, adapter.encoder):
            return adapter.folder
    if name == DEFAULT and BUNDLED.is_dir():
        return BUNDLED
    if name in ENTRIES:
        raise UsageError(
            f"No inverter for the encoder '{name}' comes with the package.",
            hint=f"Fit one, in minutes: unembed adapt --encoder {name} -o models/{name}",
        )
    return None


def shipped_for(dimension: int) -> list[str]:
    """Names of those for vectors of a dimension."""
    return [adapter.name for adapter in shipped_adapters().values() if adapter.dimension == dimension]
