"""Options of the commands that can compute on a cluster."""

from __future__ import annotations

from typing import Any

import click

from unembed.cli.options import Function, build_config, options_from
from unembed.cluster.cluster_config import ClusterConfig


def cluster_options(function: Function) -> Function:
    """`--on` and what comes with it."""
    return options_from(ClusterConfig)(function)


def take_cluster(typed: dict[str, Any]) -> ClusterConfig:
    """The cluster that was typed, taken out of the other options."""
    config = build_config(ClusterConfig, {name: typed.pop(name) for name in ClusterConfig.model_fields})
    if config.on is None:
        idle = [
            name for name in ("actors", "cpus_per_actor", "gpus_per_actor") if name in config.model_fields_set
        ]
        if idle:
            flag = "--" + idle[0].replace("_", "-")
            raise click.UsageError(f"{flag} needs --on ray.", click.get_current_context())
    return config
