"""Where a run computes, and in which pieces. A field's description is its command-line help."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

RAY = "ray"


class ClusterConfig(BaseModel):
    """Who computes. None of it changes a result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    on: str | None = Field(
        None,
        description="Compute on a Ray cluster: 'ray' starts one on this machine, 'ray:auto' or "
        "'ray:HOST:PORT' joins one.  [default: in this process]",
    )
    actors: int | None = Field(
        None, ge=1, description="Ray: workers, each with a model of its own.  [default: as many as fit]"
    )
    cpus_per_actor: int = Field(1, ge=1, description="Ray: processor cores, and threads, of a worker.")
    gpus_per_actor: float = Field(
        0.0, ge=0, description="Ray: GPUs of a worker; may be a fraction. Give --device cuda with it."
    )
    price_per_hour: float | None = Field(
        None, ge=0, description="US dollars an hour for all machines together: what a million rows cost."
    )

    @field_validator("on")
    @classmethod
    def _known(cls, typed: str | None) -> str | None:
        if typed is not None and typed.partition(":")[0] != RAY:
            raise ValueError(f"'{typed}' is no engine; write ray, ray:auto or ray:HOST:PORT")
        return typed

    @property
    def address(self) -> str:
        """What `ray.init` is given: 'local' starts a cluster, anything else names one."""
        return (self.on or RAY).partition(":")[2] or "local"


def everywhere(name: str | None) -> str | None:
    """A model's or encoder's name as workers can use it: of a folder the whole path, else the name."""
    return str(Path(name).expanduser().resolve()) if name and Path(name).expanduser().is_dir() else name
