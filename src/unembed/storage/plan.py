"""What a folder is being made of: written first, and compared on every later run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.errors import MismatchError
from unembed.storage.atomic import write_json
from unembed.storage.checked import read_json

PLAN_NAME = "plan.json"


def settle_plan(folder: Path, plan: dict[str, Any]) -> None:
    """Write the plan of a new folder; refuse a folder that was started with another one.

    The plan holds everything that the files depend on, so equal plans mean that a run may continue with
    what an earlier one left.
    """
    path = folder / PLAN_NAME
    if not path.exists():
        write_json(path, plan)
        return
    before = read_json(path)
    if before.get("kind") != plan["kind"]:
        holds = "collected texts" if before.get("kind") == "texts" else "training data"
        raise MismatchError(f"{folder} already holds {holds}.", hint="Give another output folder.")
    changes = differences(before, plan)
    if changes:
        raise MismatchError(
            f"{folder} was made with other settings: {'; '.join(changes)}.",
            hint="Give another output folder, or delete this one to start again; nothing was changed.",
        )


def differences(before: Any, now: Any, name: str = "") -> list[str]:
    """What was, and what is now, of every setting that differs; named by where it is."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            change
            for key in dict.fromkeys((*before, *now))
            for change in differences(before.get(key), now.get(key), f"{name}.{key}" if name else key)
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [
            change
            for number, pair in enumerate(zip(before, now, strict=True))
            for change in differences(*pair, f"{name}[{number}]")
        ]
    return [] if before == now else [f"{name} was {_short(before)}, now {_short(now)}"]


def _short(value: Any) -> str:
    if value is None:
        return "not given"
    text = str(value)
    return text if len(text) <= 40 else text[:12] + "…"
