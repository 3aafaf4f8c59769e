"""The requests that a server answers first, to nobody: its first client then waits no longer than its second.

They leave behind packed weights, kernels, tokenizers, the surrogate and the phrases, all ready for use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unembed.model.parts import SURROGATE
from unembed.server.engine import Engine
from unembed.server.schemas import InvertRequest

TEXT = "The old house by the river has a green door."
ROUND = 8  # encoder calls: a search that looks at its starts has loaded all that a longer one uses


def warm_up_requests(engine: Engine) -> list[InvertRequest]:
    """A round trip and a short search, as far as this model can do them."""
    source = _source(engine)
    requests = [{**source, "cosine": True}]
    search = {**source, "strategy": "guided", "options": {"max_encoder_calls": ROUND}}
    if engine.inverter.has_surrogate:  # costs no call of an encoder that may be a paid endpoint
        requests.append({**search, "encoder": SURROGATE})
    elif engine.can_encode:
        requests.append(search)
    return [InvertRequest(**request) for request in requests]


def _source(engine: Engine) -> dict[str, Any]:
    """A text; without an encoder a vector that is as long as the model's are, in any direction."""
    if engine.can_encode:
        return {"texts": [TEXT]}
    norm, _ = engine.inverter.checkpoint.config.vector_norm
    vector = np.full(engine.inverter.dimension, norm / engine.inverter.dimension**0.5)  # [D]
    return {"vectors": [vector.tolist()]}
