"""Packed ONNX models are run in ONNX Runtime and compared with what the bundle decodes to."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

from cnet import dtypes
from cnet.bundle import Bundle, open_bundle, write_bundle
from cnet.bundle.packed_onnx import PackedReport, write_packed_onnx
from cnet.coding import ENCODERS
from cnet.errors import CnetError
from cnet.formats import Checkpoint
from cnet.pipeline.local.compress_file import compress_file
from cnet.reconstruction import AxisScales, axis_factors, sides_of
from cnet.spec import JobSpec
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

RNG = np.random.default_rng(0)
SHAPE = (48, 31)


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options)


def _outputs(path: Path, **inputs: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Every output of a model by its name, as ONNX Runtime computes it."""
    session = _session(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def _weights(dtype: str = "float32") -> Weights:
    values = dtypes.narrow(RNG.standard_normal(SHAPE), dtype)
    head = Tensor("head.weight", dtype, dtypes.narrow(RNG.standard_normal((40, 16, 3, 3)), dtype))
    bias = Tensor("bias", dtype, dtypes.narrow(RNG.standard_normal(31), dtype))
    tensors = [Tensor("weight", dtype, values), head, bias, Tensor("steps", "int64", np.array(3, np.int64))]
    return Weights.select([*tensors, Tensor("tied", dtype, values)], tied=[("weight", "tied")])


def _bundle(folder: Path, weights: Weights, **spec: Any) -> Bundle:
    made = JobSpec.parse({"checkpoint": "net", "prune": {"name": "magnitude", "sparsity": 0.3}} | spec)
    compress_file(Checkpoint(weights, "safetensors", None, None, ()), made, folder / "net.npz")
    return open_bundle(folder / "net.npz")


def _quantizers() -> dict[str, tuple[dict[str, Any], bool]]:
    """Quantizers, and whether what they give is packed."""
    return {
        "4 bits": ({"name": "kmeans", "clusters": 15}, True),
        "8 bits": ({"name": "kmeans", "clusters": 16}, True),
        "12 bits": ({"name": "kmeans", "clusters": 300}, True),
        "grid": ({"name": "ecsq", "step": 0.02}, True),
        "trellis": ({"name": "auto"}, True),
        "rows": ({"name": "uniform", "bits": 4, "scope": "channel"}, True),
        "dither": ({"name": "universal", "step": 0.3}, False),
        "values": ({"name": "none"}, False),
    }


@pytest.mark.parametrize("name", list(_quantizers()))
def test_values_are_those_of_the_bundle(tmp_path: Path, name: str) -> None:
    """Each tensor bit for bit, and the file is smaller than its weights where they have few values."""
    quantizer, packs = _quantizers()[name]
    bundle, path = _bundle(tmp_path, _weights(), quantize=quantizer), tmp_path / "net.onnx"

    report = write_packed_onnx(bundle, path)

    outputs = _outputs(path)
    assert set(outputs) == set(bundle)
    for each in bundle:
        assert outputs[each].dtype == bundle[each].dtype
        assert outputs[each].tobytes() == bundle[each].tobytes()
    assert (set(report.packed) == {"weight", "head.weight", "tied"}) == packs
    assert report.packed_elements == (2 * math.prod(SHAPE) + 40 * 16 * 9 if packs else math.prod(SHAPE))
    onnx.checker.check_model(str(path), full_check=True)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("scope", ["network", "channel"])
def test_other_types_are_rounded_as_the_bundle_is(tmp_path: Path, dtype: str, scope: str) -> None:
    """Half and double precision, with factors of rows and without."""
    bundle = _bundle(tmp_path, _weights(dtype), quantize={"name": "uniform", "bits": 4, "scope": scope})
    path = tmp_path / "net.onnx"
    write_packed_onnx(bundle, path)
    outputs = _outputs(path)
    for each in bundle:
        assert outputs[each].tobytes() == bundle[each].tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["steps", "any numbers"])
def test_factors_of_rows_and_columns_are_multiplied_in_their_order(tmp_path: Path, dtype: str, kind: str) -> None:
    """Each tensor bit for bit, also where the products of factors are rounded."""
    weights = Weights.select([*_weights(dtype), Tensor("vector", dtype, dtypes.narrow(np.ones(6), dtype))])
    shapes = [weights[name].shape for name in weights.compressible]
    count, rng = weights.compressible_parameters, np.random.default_rng(1)
    width = weights.vector().dtype
    factors = (
        rng.uniform(0.1, 3, axis_factors(shapes))
        if kind == "any numbers"
        else 2.0 ** rng.integers(-3, 3, axis_factors(shapes))
    )
    labels = rng.integers(0, 9, count).astype(np.uint8)
    symbols = Symbols(np.ones(count, np.bool_), labels, np.arange(1, 10).astype(width))
    scales = AxisScales(factors.astype(width), sides_of(shapes))
    scaled = replace(symbols, reconstruction=scales)
    write_bundle(tmp_path / "net.npz", weights, scaled, ENCODERS.create("compact"))
    bundle, path = open_bundle(tmp_path / "net.npz"), tmp_path / "net.onnx"

    report = write_packed_onnx(bundle, path)

    outputs = _outputs(path)
    assert {"weight", "head.weight"} <= set(report.packed)
    for each in bundle:
        assert outputs[each].tobytes() == bundle[each].tobytes()


def test_products_are_multiplied_by_the_runtime(tmp_path: Path) -> None:
    """Within the rounding of float32, since the runtime chooses the order of the sum."""
    bundle = _bundle(
        tmp_path, _weights(), transform={"name": "low_rank", "rank": 0.2}, quantize={"name": "kmeans", "clusters": 100}
    )
    assert bundle.products
    path = tmp_path / "net.onnx"
    write_packed_onnx(bundle, path)
    for name, value in _outputs(path).items():
        np.testing.assert_allclose(value, bundle[name], rtol=1e-5, atol=1e-5)


def _network(folder: Path, opset: int = 17) -> Path:
    """Y = (x · weight + bias) as an ONNX file whose nodes carry comments."""
    values = RNG.standard_normal
    initializers = [
        onnx.numpy_helper.from_array(values(SHAPE).astype(np.float32), "weight"),
        onnx.numpy_helper.from_array(values(31).astype(np.float32), "bias"),
    ]
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "weight"], ["cnet.h"], doc_string="a comment " * 1000),
        onnx.helper.make_node("Add", ["cnet.h", "bias"], ["y"]),
    ]
    kind = onnx.TensorProto.FLOAT
    ends = [onnx.helper.make_tensor_value_info(name, kind, ["n", size]) for name, size in (("x", 48), ("y", 31))]
    graph = onnx.helper.make_graph(nodes, "net", ends[:1], ends[1:], initializers)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, folder / "original.onnx")
    return folder / "original.onnx"


def _compressed_network(folder: Path) -> tuple[Bundle, PackedReport]:
    template = _network(folder)
    model = onnx.load(template)
    tensors = [Tensor(i.name, "float32", onnx.numpy_helper.to_array(i).copy()) for i in model.graph.initializer]
    bundle = _bundle(folder, Weights.select(tensors), quantize={"name": "kmeans", "clusters": 15})
    return bundle, write_packed_onnx(bundle, folder / "packed.onnx", template)


def test_a_network_computes_with_packed_weights(tmp_path: Path) -> None:
    """The graph of the template, its weights packed into 4 bits, and none of its comments."""
    bundle, report = _compressed_network(tmp_path)
    x = RNG.standard_normal((5, 48)).astype(np.float32)

    y = _outputs(tmp_path / "packed.onnx", x=x)["y"]

    np.testing.assert_allclose(y, x @ bundle["weight"] + bundle["bias"], rtol=1e-5, atol=1e-5)
    assert report.packed == ("weight",)
    assert report.other == ("bias",)
    assert (tmp_path / "packed.onnx").stat().st_size < math.prod(SHAPE) / 2 + 31 * 4 + 1000
    onnx.checker.check_model(str(tmp_path / "packed.onnx"), full_check=True)


def test_an_old_operator_set_is_refused(tmp_path: Path) -> None:
    """Taking bytes apart needs an operator of the set 11."""
    bundle, _ = _compressed_network(tmp_path)
    old = _network(tmp_path, opset=10)
    with pytest.raises(CnetError, match="operator set 10, and packed weights need 11") as caught:
        write_packed_onnx(bundle, tmp_path / "old.onnx", old)
    assert caught.value.code == "not_alike"
    assert not (tmp_path / "old.onnx").exists()


def test_a_template_of_another_kind_is_refused(tmp_path: Path) -> None:
    """What is no ONNX file, and an ONNX file of another network."""
    bundle, _ = _compressed_network(tmp_path)
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(CnetError) as caught:
        write_packed_onnx(bundle, tmp_path / "made.onnx", tmp_path / "text.onnx")
    assert caught.value.code == "not_onnx"
    other = _bundle(tmp_path, Weights.select([Tensor("another", "float32", np.ones((4, 4), np.float32))]))
    with pytest.raises(CnetError, match="no initializers of these names: 'another'"):
        write_packed_onnx(other, tmp_path / "made.onnx", tmp_path / "original.onnx")
