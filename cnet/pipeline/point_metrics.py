"""Measure networks and bundles: what the metrics of a run (``cnet.results.points``) are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.bundle import BundleSizes
from cnet.errors import BundleError, CheckpointError
from cnet.parts.capabilities import reported_settings
from cnet.products import product_slices
from cnet.quantize import Quantizer
from cnet.results.damage import warnings_about
from cnet.results.histogram import HistogramSample, WeightHistogram
from cnet.results.measurements import BundleMeasurement, NetworkMeasurement, PointMeasurement, Scores, TensorMeasurement
from cnet.results.measures import WeightCounts, energy, squared_error
from cnet.results.metrics import compute
from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point
from cnet.symbols import Symbols
from cnet.weights import Weights

Vector = npt.NDArray[np.floating]


@dataclass(frozen=True)
class PointRequest:
    """What is asked of a point.

    Attributes:
        index: how many points of the run come before it.
        sparsity: what is asked of the pruner.
        clusters: one of the quantizer's levels; None where it has no such number.
        quantizer: with no field left to a search.
    """

    index: int
    sparsity: float
    clusters: int | None
    quantizer: Quantizer

    @property
    def name(self) -> str:
        """The name of the point's files."""
        return point_name(self.index)


def point_name(index: int) -> str:
    """The name of the files of the ``index``-th point of a run."""
    return f"point-{index:03d}"


def check_finite(network: NetworkMeasurement) -> None:
    """Refuse weights that their element types cannot hold. Raises CheckpointError (``not_finite``)."""
    infinite = [tensor.name for tensor in network.tensors if not np.isfinite(tensor.counts.squared_error)]
    if infinite:
        raise CheckpointError(
            f"tensor {infinite[0]!r}: compressed weights are larger than its element type can hold. Use the quantizer "
            "kmeans and no transform, or save the checkpoint in a wider type.",
            code="not_finite",
        )


def check_decoded(name: str, decoded: npt.NDArray[np.generic], expected: npt.NDArray[np.generic]) -> None:
    """Check that a tensor, or a chunk of it, decodes to what was encoded, bit for bit.

    Args:
        name: of the tensor.
        decoded: shape (n,), any element type.
        expected: shape (n,).

    Raises:
        BundleError: type, length or any bit differs.
    """
    same = decoded.dtype == expected.dtype and np.array_equal(decoded.view(np.uint8), expected.view(np.uint8))
    if not same:
        raise BundleError(
            f"tensor {name!r}: the bundle does not decode to what was encoded. Report this fault of cnet, with the "
            "job's specification."
        )


def measure_network(
    original: Vector,
    networks: tuple[Weights, Weights],
    symbols: Symbols,
    scores: Scores | None,
    accuracy_before_quantize: float | None,
) -> NetworkMeasurement:
    """Measure a decoded network.

    Args:
        original: w_net just before pruning, shape (n,), floating point.
        networks: the tensors as they lie in the bundle, and as its reader gets them: with factors, and with products.
        symbols: mask, labels and centroids that the bundle holds.
        scores: of the decoded network.
        accuracy_before_quantize: of the network before it was quantized.
    """
    stored, decoded = networks
    tensors = tuple(_tensors(original, stored, decoded, symbols))
    numbers, vector = stored.vector(), decoded.vector()
    counts = WeightCounts(
        weights=len(numbers),
        nonzero=int(np.count_nonzero(numbers)),
        compared=len(vector),
        squared_error=squared_error(original, vector),
        populations=_populations(symbols.labels),
        energy=energy(original),
    )
    histogram = _histogram(original, vector)
    return NetworkMeasurement(scores, accuracy_before_quantize, symbols.clusters, counts, tensors, histogram)


def measured_point(request: PointRequest, network: NetworkMeasurement, baseline: BaselineResult) -> PointMeasurement:
    """What is known of a point before its file is finished."""
    return PointMeasurement(
        index=request.index,
        sparsity=request.sparsity,
        clusters=request.clusters,
        quantizer=request.quantizer.name,
        settings=reported_settings(request.quantizer),
        network=network,
        baseline=baseline,
    )


def point_of(measured: PointMeasurement, sizes: BundleSizes) -> Point:
    """The point of a bundle of these sizes."""
    bundle = BundleMeasurement(**vars(measured), bytes=compute(PartBytes, sizes), sha256=sizes.sha256)
    layers = tuple(compute(LayerResult, tensor) for tensor in measured.network.tensors)
    point = replace(compute(Point, bundle), layers=layers, histogram=measured.network.histogram)
    return replace(point, warnings=warnings_about(point, measured.baseline))


def _tensors(original: Vector, stored: Weights, decoded: Weights, symbols: Symbols) -> Iterator[TensorMeasurement]:
    """Measurements of each compressible tensor, whose labels lie side by side in order of w_net."""
    start, numbers, vector = 0, stored.vector(), decoded.vector()
    for (name, part), place in zip(decoded.slices(), product_slices(stored), strict=True):
        stop = start + int(np.count_nonzero(symbols.keep[place]))
        labels = None if symbols.labels is None else symbols.labels[start:stop]
        start = stop
        counts = WeightCounts(
            weights=len(numbers[place]),
            nonzero=int(np.count_nonzero(numbers[place])),
            compared=len(vector[part]),
            squared_error=squared_error(original[part], vector[part]),
            populations=_populations(labels),
            energy=energy(original[part]),
        )
        yield TensorMeasurement(name, decoded[name].shape, counts, _histogram(original[part], vector[part]))


def _histogram(original: Vector, decoded: Vector) -> WeightHistogram | None:
    sample = HistogramSample(len(original))
    sample.add(original, decoded)
    return sample.histogram()


def _populations(labels: npt.NDArray[np.unsignedinteger] | None) -> npt.NDArray[np.int64] | None:
    """How often each label occurs."""
    return None if labels is None else np.bincount(labels).astype(np.int64)
