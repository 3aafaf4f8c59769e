"""A BERT's weights out of an ONNX graph, as two exporters write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unembed.encoders.onnx_weights import read_onnx
from unembed.errors import DataError

onnx = pytest.importorskip("onnx")
helper, numpy_helper = pytest.importorskip("onnx.helper"), pytest.importorskip("onnx.numpy_helper")


def graph(path: Path, *, bias_first: bool, external: bool) -> dict[str, np.ndarray]:
    """Two linear layers and a table; the matrices have lost their names."""
    rng = np.random.default_rng(0)
    true = {"words.weight": rng.normal(size=(5, 3)).astype(np.float32)}
    stored, nodes, x = dict(true), [], "x"
    for number, (name, shape) in enumerate({"layer.0.up": (4, 3), "layer.0.down": (3, 4)}.items()):
        weight, bias = rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[0]).astype(np.float32)
        true |= {f"{name}.weight": weight, f"{name}.bias": bias}
        stored |= {f"onnx::MatMul_{number}": weight.T.copy(), f"{name}.bias": bias}
        nodes.append(helper.make_node("MatMul", [x, f"onnx::MatMul_{number}"], [f"p{number}"]))
        added = [f"{name}.bias", f"p{number}"] if bias_first else [f"p{number}", f"{name}.bias"]
        x = f"y{number}"
        nodes.append(helper.make_node("Add", added, [x]))
    # A product of two activations is no layer, and a sum without a bias neither.
    nodes.append(helper.make_node("MatMul", [x, x], ["square"]))
    nodes.append(helper.make_node("Add", ["square", x], ["out"]))
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        nodes,
        "bert",
        [value("x", onnx.TensorProto.FLOAT, [None, 3])],
        [value("out", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    onnx.save(
        helper.make_model(made),
        str(path),
        save_as_external_data=external,
        location="weights.data",
        size_threshold=0,
    )
    return true


@pytest.mark.parametrize("bias_first", [False, True])
@pytest.mark.parametrize("external", [False, True])
def test_matrices_get_their_names_and_their_shape_back(tmp_path, bias_first, external):
    true = graph(tmp_path / "model.onnx", bias_first=bias_first, external=external)
    found = read_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "weights.data").exists() == external
    for name, array in true.items():
        assert np.array_equal(found[name].numpy(), array), name


def test_a_damaged_file_is_an_error_with_a_hint(tmp_path):
    graph(tmp_path / "model.onnx", bias_first=False, external=True)
    (tmp_path / "weights.data").unlink()
    with pytest.raises(DataError, match="cannot be read as ONNX"):
        read_onnx(tmp_path / "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(DataError, match="cannot be read as ONNX"):
        read_onnx(tmp_path / "model.onnx")
