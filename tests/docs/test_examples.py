"""The examples for clusters: well-formed, and what they type is what the commands take."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from unembed.cli import invert, train

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def accepted(command: click.Command, words: list[str]) -> None:
    """Every flag is one of the command's."""
    known = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    typed = [word for word in words if word.startswith("-")]
    assert len(typed) > 2
    assert not [flag for flag in typed if flag not in known]


def test_the_rayjob_has_what_kuberay_asks_for() -> None:
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
    spec = job["spec"]
    cluster = spec["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    assert len(groups) > 1
    for group in groups:
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        for container in group["template"]["spec"]["containers"]:
            assert cluster["rayVersion"] in container["image"]
            assert container["resources"]["limits"] == container["resources"]["requests"]
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    program, name, *rest = shlex.split(spec["entrypoint"])
    assert (program, name) == ("unembed", "invert")
    accepted(invert.command, rest)


@pytest.mark.parametrize("name", ["train.sbatch", "invert.sbatch"])
def test_batch_scripts_are_shell(name: str) -> None:
    checked = subprocess.run(["bash", "-n", EXAMPLES / name], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    text = (EXAMPLES / name).read_text()
    assert text.startswith("#!/bin/bash\n")
    # Slurm stops reading its options at the first command.
    options, rest = text.split("set -euo pipefail", 1)
    assert "#SBATCH" not in rest
    assert options.count("#SBATCH --") > 4


def test_batch_scripts_type_what_the_commands_take() -> None:
    training = (EXAMPLES / "train.sbatch").read_text()
    accepted(train.command, shlex.split(training.split("unembed train ")[1].split("\n")[0]))
    inverting = (EXAMPLES / "invert.sbatch").read_text()
    accepted(invert.command, shlex.split(inverting.split("unembed invert ")[1].split("\n")[0]))
