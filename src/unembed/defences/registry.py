"""The defences by name: one line each.

To add one: write a file in this folder with a class after `method.Method`, and one line in `METHODS`. It must
pass tests/defences/test_defence_contract.py.
"""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import ValidationError

from unembed.defences.base import Defence
from unembed.defences.binary_quantisation import BinaryQuantisation
from unembed.defences.dominant_directions import DominantDirections
from unembed.defences.dp_gaussian import DPGaussian
from unembed.defences.gaussian import Gaussian
from unembed.defences.learnt import Learnt
from unembed.defences.method import Method
from unembed.defences.metric_dp import MetricDP
from unembed.defences.neighbour_mixing import NeighbourMixing
from unembed.defences.noise_ball import NoiseBall
from unembed.defences.permutation import Permutation
from unembed.defences.product_quantisation import ProductQuantisation
from unembed.defences.random_projection import RandomProjection
from unembed.defences.rotation import Rotation
from unembed.defences.scalar_quantisation import ScalarQuantisation
from unembed.defences.scale_and_perturb import ScaleAndPerturb
from unembed.defences.truncation import PCA, Truncation
from unembed.defences.unprotected import Unprotected
from unembed.errors import UsageError
from unembed.validation import one_line

METHODS: dict[str, type[Method]] = {
    method.info.name: method
    for method in (
        Unprotected,
        Gaussian,
        DPGaussian,
        NoiseBall,
        MetricDP,
        ScalarQuantisation,
        BinaryQuantisation,
        ProductQuantisation,
        Truncation,
        PCA,
        RandomProjection,
        Permutation,
        Rotation,
        ScaleAndPerturb,
        DominantDirections,
        NeighbourMixing,
        Learnt,
    )
}


def defence_names() -> tuple[str, ...]:
    """The names that `make_defence` takes."""
    return tuple(METHODS)


def make_defence(name: str, **parameters: Any) -> Defence:
    """The defence of that name. An unknown name or parameter is an error that lists the known ones.

    >>> make_defence("gaussian", sigma=0.02).describe()
    {'method': 'gaussian', 'sigma': 0.02}
    """
    if name not in METHODS:
        raise UsageError(
            f"There is no defence '{name}'.",
            hint=f"{_guess(name, METHODS)}The defences: {', '.join(METHODS)}.",
        )
    kind = METHODS[name]
    known = list(kind.parameters_type.model_fields)
    for given in parameters:
        if given not in known:
            raise UsageError(
                f"The defence '{name}' has no parameter '{given}'.",
                hint=f"{_guess(given, known)}Its parameters: {', '.join(known) or 'none'}.",
            )
    try:
        return kind(kind.parameters_type(**parameters))
    except ValidationError as error:
        raise UsageError(f"Defence '{name}': {one_line(error)}") from error


def parse_defence(typed: str) -> Defence:
    """A defence as it is typed: NAME, or NAME:PARAMETER=VALUE,PARAMETER=VALUE.

    >>> parse_defence("gaussian:sigma=0.02").describe()
    {'method': 'gaussian', 'sigma': 0.02}
    """
    name, _, rest = typed.strip().partition(":")
    parameters: dict[str, str] = {}
    for one in filter(None, rest.split(",")):
        parameter, sign, value = (part.strip() for part in one.partition("="))
        if not sign or not parameter:
            raise UsageError(f"'{one}' in '{typed}' is not PARAMETER=VALUE.", hint="Like gaussian:sigma=0.02")
        if parameter in parameters:
            raise UsageError(f"'{typed}' gives {parameter} twice.", hint="Give it once.")
        parameters[parameter] = value
    return make_defence(name, **parameters)


def _guess(given: str, known: Any) -> str:
    close = difflib.get_close_matches(given, known, n=1)
    return f"Did you mean '{close[0]}'? " if close else ""
