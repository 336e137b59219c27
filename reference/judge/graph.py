"""Write the encoder of the default judge as one ONNX graph, with what was tuned inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper

from aor_lib.judge.encoder import Array

_HEADS, _EPSILON = 12, 1e-12
_CONTRIB = "com.microsoft"


def save_encoder(base: Mapping[str, Array], tuned: Mapping[str, Array], path: Path) -> None:
    """Write a graph from ``ids`` to ``scores``.

    It holds the arrays of ``tuned``. Those of ``base`` are named only:
    :mod:`aor_lib.judge.encoder` fetches them.
    """
    layers = sum(name.endswith(" qkv") for name in [*base, *tuned])
    nodes = [
        _node(
            "EmbedLayerNormalization", "ids,,words,places,,norm scale,norm bias", "0 input,unused"
        )
    ]
    for layer in range(layers):
        nodes += _layer(layer)
    nodes += [
        helper.make_node("ReduceMean", [f"{layers} input"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["mean", "head", "head bias"], ["scores"], transB=1),
    ]
    nodes[0].attribute.append(helper.make_attribute("epsilon", _EPSILON))
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT32, [1, "tokens"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, None])],
        [*map(_elsewhere, base, base.values())]
        + [numpy_helper.from_array(array, name) for name, array in tuned.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_CONTRIB, 1)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )


def _layer(layer: int) -> list[Any]:
    def linear(name: str, source: str, target: str) -> Any:
        weight = f"{layer} {name}"
        return _node(
            "DynamicQuantizeMatMul", f"{source},{weight},{weight} scale,,{weight} bias", target
        )

    def norm(name: str, source: str, residual: str, target: str) -> Any:
        weights = f"{layer} {name} scale,{layer} {name} bias"
        return _node(
            "SkipLayerNormalization", f"{source},{residual},{weights}", target, epsilon=_EPSILON
        )

    here = f"{layer} "
    query, key, value = (f"{here}{name}" for name in ("query", "key", "value"))
    return [
        linear("qkv", f"{here}input", f"{here}projected"),
        helper.make_node("Split", [f"{here}projected"], [query, key, value], axis=-1),
        _node("MultiHeadAttention", f"{query},{key},{value}", f"{here}attended", num_heads=_HEADS),
        linear("out", f"{here}attended", f"{here}mixed"),
        norm("norm 1", f"{here}mixed", f"{here}input", f"{here}middle"),
        linear("up", f"{here}middle", f"{here}wide"),
        _node("Gelu", f"{here}wide", f"{here}active"),
        linear("down", f"{here}active", f"{here}narrow"),
        norm("norm 2", f"{here}narrow", f"{here}middle", f"{layer + 1} input"),
    ]


def _node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(
        kind, inputs.split(","), outputs.split(","), domain=_CONTRIB, **attributes
    )


def _elsewhere(name: str, array: Array) -> Any:
    tensor = numpy_helper.from_array(array[:0], name)
    del tensor.dims[:]
    tensor.dims.extend(array.shape)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="of the published model")
    return tensor
