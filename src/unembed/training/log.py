"""What a run says while it runs: JSON lines always, TensorBoard where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unembed.storage import atomic_write

LOG = "log.jsonl"


class RunLog:
    """Append-only `log.jsonl`; on resume, lines beyond the restored step are taken back."""

    def __init__(self, folder: Path, *, from_step: int) -> None:
        self._path = folder / LOG
        folder.mkdir(parents=True, exist_ok=True)
        earlier = [line for line in read_log(folder) if line["step"] <= from_step]
        with atomic_write(self._path) as file:
            file.writelines(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in earlier)
        self._file = self._path.open("a", encoding="utf-8")
        self._board = _tensorboard(folder / "tensorboard", from_step)

    def write(self, kind: str, step: int, **values: Any) -> None:
        """One line: its kind (train, validation, sample, ...), the step, and the figures."""
        self._file.write(json.dumps({"kind": kind, "step": step, **values}, ensure_ascii=False) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        """Flush what is still to be written."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log; a last line cut short by a kill is left out."""
    path = folder / LOG
    if not path.exists():
        return []
    out = []
    # Not splitlines: recovered sentences may hold characters that it takes for the end of a line.
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return out


def _tensorboard(folder: Path, from_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=from_step + 1)
