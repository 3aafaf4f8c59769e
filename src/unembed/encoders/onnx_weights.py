"""The weights of a BERT in an ONNX file, under the names that its checkpoint had. No graph is run.

Exporters keep the names of biases, norms and tables, and transpose and rename the matrices. A matrix is found
by what it is added to: of `MatMul(x, W)` and `Add(that, NAME.bias)`, W is the transpose of `NAME.weight`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from unembed.errors import DataError
from unembed.extras import require

BIAS, WEIGHT = ".bias", ".weight"


def read_onnx(path: Path) -> dict[str, Tensor]:
    """Every named tensor of the file (and of the data beside it), and the matrices by their own names."""
    onnx = require("onnx", extra="onnx", purpose="Reading an ONNX file")
    helper = require("onnx.numpy_helper", extra="onnx", purpose="Reading an ONNX file")
    try:
        graph = onnx.load(str(path)).graph  # with the data beside it, where there is some
        arrays = {one.name: torch.from_numpy(helper.to_array(one).copy()) for one in graph.initializer}
    except Exception as error:  # the library passes on whatever its parser and the file system raise
        raise DataError(f"{path} cannot be read as ONNX: {error}", hint="Fetch the encoder again.") from error
    products = {
        node.output[0]: node.input[1]
        for node in graph.node
        if node.op_type == "MatMul" and node.input[1] in arrays
    }
    for node in graph.node:
        if node.op_type != "Add":
            continue
        product = next((products[name] for name in node.input if name in products), None)
        bias = next((name for name in node.input if name in arrays and name.endswith(BIAS)), None)
        if product is not None and bias is not None:
            arrays[bias.removesuffix(BIAS) + WEIGHT] = arrays[product].T.contiguous()
    return arrays
