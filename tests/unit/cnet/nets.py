"""Small nets to compress, and the round trip through a bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from cnet import dtypes
from cnet.bundle import Bundle, open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
EXACT = ("complex64", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")


def tensor(name: str, dtype: str, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """A tensor of random values; of random bits where the type is no float."""
    rng = np.random.default_rng([seed, *name.encode()])
    if dtype in FLOATS:
        return Tensor(name, dtype, dtypes.narrow(np.asarray(rng.normal(size=shape) * 0.1), dtype))
    storage = dtypes.by_name(dtype).numpy
    if dtype == "bool":
        return Tensor(name, dtype, np.asarray(rng.integers(0, 2, shape).astype(np.bool_)))
    count = int(np.prod(shape)) * storage.itemsize
    return Tensor(name, dtype, np.frombuffer(rng.bytes(count), storage).reshape(shape).copy())


def every_type() -> Weights:
    """One compressible tensor of each float, one other tensor of each type, scalars, empty and tied ones."""
    tensors = [tensor(f"{dtype}.weight", dtype, (3, 5)) for dtype in FLOATS]
    tensors += [tensor(f"{dtype}.buffer", dtype, shape) for dtype in (*FLOATS, *EXACT) for shape in [(4,)]]
    tensors += [tensor("steps", "int64", ()), tensor("scale", "bfloat16", ()), tensor("nothing", "float32", (0, 4))]
    tensors += [Tensor("float32.head", "float32", tensors[1].data), Tensor("steps2", "int64", tensors[-3].data)]
    return Weights.select(tensors, tied=[("float32.weight", "float32.head"), ("steps", "steps2")])


def compress(weights: Weights, sparsity: float, clusters: int | None) -> Symbols:
    """Pruned by magnitude and quantized; unquantized where ``clusters`` is None."""
    keep = PRUNERS.create("magnitude").keep(weights, sparsity)
    quantizer = QUANTIZERS.create("none" if clusters is None else "kmeans")
    return quantizer.symbols(weights.vector(), keep, clusters)


def bundled(path: Path, weights: Weights, symbols: Symbols) -> Bundle:
    """The bundle of them, written to ``path`` by the encoder npz and opened again."""
    write_bundle(path, weights, symbols, ENCODERS.create("npz"))
    return open_bundle(path)


def assert_same_bits(actual: Weights, expected: Weights) -> None:
    """Names, types, shapes, roles, ties and every bit are equal."""
    assert [t.name for t in actual] == [t.name for t in expected]
    assert (actual.compressible, actual.tied) == (expected.compressible, expected.tied)
    for one, other in zip(actual, expected, strict=True):
        assert (one.dtype, one.shape, one.data.dtype) == (other.dtype, other.shape, other.data.dtype)
        assert one.data.tobytes() == other.data.tobytes()


def shapes() -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of nought to three dimensions, empty ones too."""
    return st.lists(st.integers(0, 4), max_size=3).map(tuple)
