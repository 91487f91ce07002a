"""Every encoder with every quantizer: whatever the net, what is read is bit for bit what was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cnet import dtypes
from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols
from cnet.weights import Selection, Tensor, Weights
from tests.unit.cnet.nets import EXACT, FLOATS, assert_same_bits, shapes, tensor

SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("none", {}),
    *(("auto", {"quality": quality}) for quality in ("lossless", "safe", "smallest")),
    *(("kmeans", {"clusters": (clusters,)}) for clusters in (1, 2, 300, 65536)),
    ("kmeans", {"clusters": (3,), "scope": "layer"}),
    *(("uniform", {"bits": (bits,)}) for bits in (1, 8)),
    *(("uniform", {"bits": (3,), "scope": scope}) for scope in ("layer", "channel")),
    *(("binary", {"scope": scope}) for scope in ("network", "layer", "channel")),
    *(("ecsq", {"states": states}) for states in (1, 8)),
    *(("universal", {"step": 0.7, "dither": dither}) for dither in (True, False)),
)
MADE = st.sampled_from(["normal", "laplace", "equal", "nought", "signs"])
SCALES = st.sampled_from([1e-44, 1e-38, 1e-3, 1.0, 1e38])


def values_of(kind: str, shape: tuple[int, ...], scale: float, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Weights of a kind."""
    rng = np.random.default_rng(seed)
    made = {
        "normal": lambda: rng.normal(size=shape),
        "laplace": lambda: rng.laplace(size=shape),
        "equal": lambda: np.full(shape, 0.7),
        "nought": lambda: np.zeros(shape),
        "signs": lambda: rng.choice([-1.0, 1.0], shape),
    }
    return np.asarray(made[kind]() * scale)


def floating(name: str, dtype: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> Tensor:
    """A tensor of a floating type; values out of its range become 1."""
    with np.errstate(over="ignore"):
        wide = values if dtype == "float64" else values.astype(np.float32)
        stored = dtypes.narrow(wide, dtype)
        fits = np.isfinite(dtypes.widen(stored, dtype))
    return Tensor(name, dtype, np.asarray(dtypes.narrow(np.where(fits, wide, 1).astype(wide.dtype), dtype)))


def symbols_of(weights: Weights, sparsity: float, quantizer: str, options: dict[str, Any]) -> Symbols:
    """The net pruned by magnitude and quantized, as the pipeline does it."""
    keep = PRUNERS.create("magnitude").keep(weights, sparsity)
    vector = np.where(keep, weights.vector(), 0)
    part = QUANTIZERS.create(quantizer, **options)
    shapes = [weights[name].shape for name in weights.compressible]
    return part.symbols(vector, vector != 0, part.cluster_counts()[0], shapes)


def assert_comes_back(path: Any, weights: Weights, symbols: Symbols, encoder: str) -> None:
    """Through a file, by every way of reading it."""
    write_bundle(path, weights, symbols, ENCODERS.create(encoder))
    bundle = open_bundle(path)
    read = bundle.symbols()
    with np.errstate(over="ignore"):  # a mean of float16's largest numbers may round to infinity
        expected = weights.with_vector(symbols.vector())
        decoded = bundle.weights()
        bundle.verify()

    assert_same_bits(decoded, expected)
    assert np.array_equal(read.keep, symbols.keep)
    assert read.centroids.tobytes() == symbols.centroids.tobytes()
    assert (read.labels is None) == (symbols.labels is None)
    if read.labels is not None and symbols.labels is not None:
        assert read.labels.dtype == symbols.labels.dtype
        assert np.array_equal(read.labels, symbols.labels)
    assert read.vector().tobytes() == symbols.vector().tobytes()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(FLOATS), shapes(), MADE, SCALES), max_size=4),
    st.lists(st.tuples(st.sampled_from(FLOATS + EXACT), shapes()), max_size=2),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from(SETTINGS),
    st.sampled_from(ENCODERS.names()),
)
def test_any_network_round_trips_through_any_job(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[tuple[str, tuple[int, ...], str, float]],
    others: list[tuple[str, tuple[int, ...]]],
    sparsity: float,
    quantize: tuple[str, dict[str, Any]],
    encoder: str,
) -> None:
    """Scalars, empty tensors, equal and zero weights, every type, sizes from 1e-44 to 1e38."""
    rows = enumerate(parts)
    tensors = [floating(f"t{i}", dtype, values_of(kind, shape, scale, i)) for i, (dtype, shape, kind, scale) in rows]
    tensors += [tensor(f"other{index}", *part) for index, part in enumerate(others)]
    weights = Weights.select(tensors, Selection(include=("t*",), exclude=("other*",)))

    with np.errstate(over="ignore"):
        symbols = symbols_of(weights, sparsity, *quantize)
        assume(np.isfinite(symbols.vector()).all())  # of numbers as large as their type can hold; jobs are refused then
    assert_comes_back(tmp_path_factory.mktemp("any") / "b.npz", weights, symbols, encoder)


@pytest.mark.parametrize("encoder", ENCODERS.names())
@pytest.mark.parametrize("quantize", SETTINGS, ids=lambda each: "-".join(map(str, [each[0], *each[1].values()])))
def test_each_encoder_takes_each_quantizer(tmp_path: Any, encoder: str, quantize: tuple[str, dict[str, Any]]) -> None:
    """Three layers, some thousand weights of unlike scale, half of them pruned."""
    made = [("a", (24, 3, 3, 3), 0.1), ("b", (70, 40), 2.0), ("c", (10,), 30.0)]
    tensors = [floating(name, "float32", values_of("laplace", shape, scale, 1)) for name, shape, scale in made]
    weights = Weights.select([*tensors, tensor("steps", "int64", ())], Selection(include=("c",)))

    assert_comes_back(tmp_path / "b.npz", weights, symbols_of(weights, 0.5, *quantize), encoder)


@pytest.mark.parametrize("encoder", ENCODERS.names())
def test_the_most_centroids_there_can_be(tmp_path: Any, encoder: str) -> None:
    """65,536 of them."""
    weights = Weights.select([floating("w", "float32", values_of("normal", (280, 250), 1.0, 0))])
    symbols = symbols_of(weights, 0.0, "kmeans", {"clusters": (65536,)})

    assert symbols.clusters is not None
    assert symbols.clusters > 60_000
    assert_comes_back(tmp_path / "b.npz", weights, symbols, encoder)
