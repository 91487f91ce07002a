"""A net that is read part by part has the symbols, and the bundle, of the same net in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError, CheckpointError, SpecError
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.pipeline.point_metrics import measure_network
from cnet.pipeline.streaming import StreamedSymbols, StreamedVector
from cnet.pipeline.streaming.measure import measure_bundle
from cnet.pipeline.streaming.symbols import StreamedPruning
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.quantize.kmeans import KMeans
from cnet.quantize.kmeans1d import GroupingLimits
from cnet.symbols import Symbols
from cnet.weights import Weights
from tests.small_segments import small_segments
from tests.unit.cnet.nets import assert_same_bits, tensor

QUANTIZED: list[tuple[str, dict[str, Any], int | None]] = [
    ("kmeans", {}, 16),
    ("kmeans", {}, 300),
    ("uniform", {}, 16),
    ("uniform", {}, 256),
    ("none", {}, None),
]

GROUPING = GroupingLimits(exact_values=100, points_per_cluster=2, sorted_values=700)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit so low that a small net has many parts."""
    small_segments(monkeypatch)
    monkeypatch.setattr(KMeans, "grouping", GROUPING)


def net(folder: Path, *, first: str = "float32") -> Weights:
    """Four layers of three types, equal and zero weights of both signs among them, in a mapped file."""
    parts = [
        tensor("a", first, (14, 3, 3, 3)),
        tensor("a.bias", "float32", (40,)),
        tensor("b", "bfloat16", (70, 20)),
        tensor("steps", "int64", ()),
        tensor("c", "float32", (7, 9)),
        tensor("d", "float16", (30, 11)),
    ]
    parts[0].data.reshape(-1)[5:40:3] = 0.25
    parts[4].data.reshape(-1)[:6] = [-0.0, 0.0, -0.0, 0.25, -0.25, 0.0]
    write_canonical(folder / "net.safetensors", Weights.select(parts))
    return read_canonical(folder / "net.safetensors")


def in_memory(weights: Weights, sparsity: float, name: str, clusters: int | None) -> Symbols:
    """As the pipeline makes them."""
    keep = PRUNERS.create("magnitude").keep(weights, sparsity)
    return QUANTIZERS.create(name).symbols(weights.vector(), keep, clusters)


def streamed(weights: Weights, sparsity: float, name: str, clusters: int | None) -> StreamedSymbols:
    """The same, part by part."""
    kept = StreamedPruning.of(
        StreamedVector(weights, chunk=333, resident=1000),
        PRUNERS.create("magnitude"),
        sparsity,
        negative_zeros=name == "none",
    )
    return StreamedSymbols.of(kept, QUANTIZERS.create(name), clusters)


@pytest.mark.parametrize("sparsity", [0.0, 0.004, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("name", "settings_", "clusters"), QUANTIZED)
def test_the_bundle_is_the_same_to_the_byte(
    tmp_path: Path, name: str, settings_: dict[str, Any], clusters: int | None, sparsity: float
) -> None:
    """Mask, labels, centroids and everything around them."""
    del settings_
    weights, encoder = net(tmp_path), ENCODERS.create("compact")
    whole = in_memory(weights, sparsity, name, clusters)

    write_bundle(tmp_path / "memory.npz", weights, whole, encoder)
    write_bundle(tmp_path / "stream.npz", weights, streamed(weights, sparsity, name, clusters), encoder)

    assert (tmp_path / "stream.npz").read_bytes() == (tmp_path / "memory.npz").read_bytes()
    bundle = open_bundle(tmp_path / "stream.npz")
    bundle.verify()
    assert_same_bits(bundle.weights(), weights.with_vector(whole.vector()))


def test_clusters_that_need_all_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where groups of values are too coarse for the codebook of a net in memory, it is not replaced by another."""
    monkeypatch.setattr(KMeans, "grouping", replace(GROUPING, distinct_values=500))
    with pytest.raises(SpecError, match="memory"):
        streamed(net(tmp_path), 0.0, "kmeans", 2000)


@pytest.mark.parametrize("name", ["ecsq", "universal"])
def test_other_quantizers_are_refused(tmp_path: Path, name: str) -> None:
    """They say that they need the net in memory."""
    assert not QUANTIZERS.create(name).streams
    with pytest.raises(SpecError, match="memory"):
        streamed(net(tmp_path), 0.5, name, None)


@pytest.mark.parametrize("options", [{"scope": "layer"}, {"floor": 0.1}])
def test_pruners_without_one_global_threshold_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    """Streaming can find only one threshold for the whole network."""
    pruner = PRUNERS.create("magnitude", **options)
    assert not pruner.streams
    with pytest.raises(SpecError, match="memory"):
        StreamedPruning.of(StreamedVector(net(tmp_path), chunk=333, resident=1000), pruner, 0.5)


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    """The errors are those of a run in memory."""
    weights = Weights.select([tensor("a", "float32", (30, 30))])
    weights["a"].data[20, 3] = np.nan
    with pytest.raises(CheckpointError):
        streamed(weights, 0.5, "uniform", 16)
    del tmp_path


@pytest.mark.parametrize(("name", "settings_", "clusters"), QUANTIZED)
def test_quality_is_that_of_the_decoded_net(
    tmp_path: Path, name: str, settings_: dict[str, Any], clusters: int | None
) -> None:
    """Zeros, error and entropy, of the net and of each layer, as they are counted in memory."""
    del settings_
    weights, symbols = net(tmp_path), in_memory(net(tmp_path), 0.6, name, clusters)
    parts = streamed(weights, 0.6, name, clusters)
    write_bundle(tmp_path / "b.npz", weights, parts, ENCODERS.create("compact"))
    bundle = open_bundle(tmp_path / "b.npz")
    expected = measure_network(weights.vector(), (bundle.stored(), bundle.weights()), symbols, None, None)

    total, layers = measure_bundle(bundle, parts)

    assert parts.clusters == expected.centroids
    assert list(layers) == [tensor.name for tensor in expected.tensors]
    pairs = [(layers[each.name].counts(), each.counts) for each in expected.tensors]
    for ours, theirs in [(total.counts(), expected.counts), *pairs]:
        assert (ours.weights, ours.nonzero, ours.compared) == (theirs.weights, theirs.nonzero, theirs.compared)
        assert ours.squared_error == pytest.approx(theirs.squared_error, rel=1e-12)
        assert (ours.label_entropy, ours.clusters_in_use) == (theirs.label_entropy, theirs.clusters_in_use)


def test_a_bundle_of_other_symbols_is_detected(tmp_path: Path) -> None:
    """The measurement compares the decoded weights with the symbols that were encoded."""
    weights = net(tmp_path)
    write_bundle(tmp_path / "b.npz", weights, in_memory(weights, 0.5, "kmeans", 16), ENCODERS.create("compact"))

    with pytest.raises(BundleError, match="does not decode"):
        measure_bundle(open_bundle(tmp_path / "b.npz"), streamed(weights, 0.51, "kmeans", 16))
