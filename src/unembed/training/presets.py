"""The packaged training configurations, by name: `compact-minilm`, `paper-qwen3`, ..."""

from __future__ import annotations

from pathlib import Path

from unembed.errors import UsageError

CONFIGS = Path(__file__).parent.parent / "configs"


def packaged_configs() -> list[str]:
    """Their names."""
    return sorted(path.stem for path in CONFIGS.glob("*.yaml"))


def find_config(name: str) -> Path:
    """A packaged configuration by its name, or a file."""
    packaged = CONFIGS / f"{name}.yaml"
    if packaged.exists():
        return packaged
    if not Path(name).exists():
        raise UsageError(
            f"There is no configuration '{name}', neither packaged nor a file.",
            hint=f"The packaged ones: {', '.join(packaged_configs())}.",
        )
    return Path(name)
