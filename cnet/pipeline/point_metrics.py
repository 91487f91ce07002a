"""The numbers of a run, measured on weights, symbols and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import arrays, dtypes, measures
from cnet.bundle import BundleSizes
from cnet.capabilities import reported_settings
from cnet.errors import BundleError, CheckpointError
from cnet.points import BaselineResult, LayerResult, PartBytes, Point
from cnet.products import product_slices
from cnet.quantize import Quantizer
from cnet.symbols import Symbols
from cnet.weights import Weights

Vector = npt.NDArray[np.floating]


def measure_baseline(weights: Weights, accuracy: float | None, loss: float | None) -> BaselineResult:
    """The numbers of the network before compression.

    Args:
        weights: before any compression.
        accuracy: in percent; None without a data set.
        loss: mean cross-entropy; None without a data set.
    """
    return BaselineResult(
        accuracy=accuracy,
        loss=loss,
        raw_bytes=weights.raw_bytes,
        npz_bytes=measures.npz_bytes(weights),
        compressible_npz_bytes=measures.npz_vector_bytes(_vector_parts(weights), weights.compressible_parameters),
        parameters=weights.parameters,
        compressible_parameters=weights.compressible_parameters,
    )


def _vector_parts(weights: Weights) -> Iterator[npt.NDArray[np.generic]]:
    """w_net in chunks, shape (m,) each."""
    for name in weights.compressible:
        tensor = weights[name]
        yield from (dtypes.widen(part, tensor.dtype) for part in arrays.chunks(tensor.data))


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


@dataclass(frozen=True)
class PointQuality:
    """What is measured on the decoded network of a point; the fields are those of ``cnet.points.Point``."""

    accuracy: float | None
    accuracy_before_quantize: float | None
    loss: float | None
    sparsity: float
    clusters: int | None
    label_entropy: float | None
    mse: float
    layers: tuple[LayerResult, ...]

    def __post_init__(self) -> None:
        """Refuse weights that their element type cannot hold. Raises CheckpointError (``not_finite``)."""
        lost = [layer.name for layer in self.layers if not np.isfinite(layer.mse)]
        if lost:
            raise CheckpointError(
                f"tensor {lost[0]!r}: compressed weights are larger than its element type can hold. Take the quantizer "
                "kmeans and no transform, or save the checkpoint in a wider type.",
                code="not_finite",
            )

    def summary(self) -> dict[str, Any]:
        """The numbers in the manifest of the bundle: accuracies exactly, others to six significant digits."""
        return {
            "sparsity": brief(self.sparsity),
            "clusters": self.clusters,
            "accuracy": self.accuracy,
            "accuracy_before_quantize": self.accuracy_before_quantize,
            "loss": brief(self.loss),
            "label_entropy": brief(self.label_entropy),
            "mse": brief(self.mse),
        }


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


def brief(value: float | None) -> float | None:
    """``value`` to six significant digits; None where it is None or not finite."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")


def measure_quality(
    original: Vector,
    networks: tuple[Weights, Weights],
    symbols: Symbols,
    accuracies: tuple[float | None, float | None],
    loss: float | None,
) -> PointQuality:
    """Measure a decoded network.

    Args:
        original: w_net just before pruning, shape (n,), float32 or float64.
        networks: the weights as the bundle stores them, and as its reader gets them; they differ where tensors are
            stored as products of two factors.
        symbols: mask, labels and centroids as they are in the bundle.
        accuracies: in percent, of the decoded network and of the network before it was quantized.
        loss: of the decoded network.
    """
    stored, decoded = networks
    vector = decoded.vector()
    return PointQuality(
        accuracy=accuracies[0],
        accuracy_before_quantize=accuracies[1],
        loss=loss,
        sparsity=_sparsity(stored.vector()),
        clusters=symbols.clusters,
        label_entropy=measures.label_entropy(symbols),
        mse=measures.mse(original, vector),
        layers=tuple(_layers(original, stored, decoded, symbols)),
    )


def point_of(request: PointRequest, measured: PointQuality, baseline: BaselineResult, bundle: BundleSizes) -> Point:
    """All numbers of a point; its sizes are counted on the file."""
    parts = PartBytes(
        bundle.mask, bundle.labels, bundle.centroids, bundle.other_tensors, bundle.container, bundle.total
    )
    symbols = parts.mask + parts.labels + parts.centroids
    settings = reported_settings(request.quantizer)
    return Point(
        index=request.index,
        sparsity_requested=request.sparsity,
        sparsity=measured.sparsity,
        clusters_requested=request.clusters,
        clusters=measured.clusters,
        accuracy=measured.accuracy,
        accuracy_before_quantize=measured.accuracy_before_quantize,
        loss=measured.loss,
        ratio=baseline.npz_bytes / parts.total,
        ratio_weights=baseline.compressible_npz_bytes / symbols if baseline.compressible_parameters else None,
        ratio_raw=baseline.raw_bytes / parts.total,
        bits_per_parameter=8 * parts.total / baseline.parameters if baseline.parameters else None,
        label_entropy=measured.label_entropy,
        bytes=parts,
        mse=measured.mse,
        sha256=bundle.sha256,
        layers=measured.layers,
        quantizer=request.quantizer.name,
        step=settings.get("step"),
        mu=settings.get("mu"),
    )


def _layers(original: Vector, stored: Weights, decoded: Weights, symbols: Symbols) -> Iterator[LayerResult]:
    """One row for each compressible tensor. The labels of its kept weights follow each other."""
    start, numbers, vector = 0, stored.vector(), decoded.vector()
    for (name, part), place in zip(decoded.slices(), product_slices(stored), strict=True):
        keep = symbols.keep[place]
        stop = start + int(np.count_nonzero(keep))
        labels = None if symbols.labels is None else symbols.labels[start:stop]
        start = stop
        yield LayerResult(
            name=name,
            shape=decoded[name].shape,
            parameters=len(keep),
            kept=int(np.count_nonzero(numbers[place])),
            sparsity=_sparsity(numbers[place]),
            mse=measures.mse(original[part], vector[part]),
            clusters=None if labels is None else len(np.unique(labels)),
            label_entropy=measures.label_entropy(Symbols(keep, labels, symbols.centroids)),
        )


def _sparsity(vector: Vector) -> float:
    """Zeros / weights of a vector, shape (n,); 0 where it is empty."""
    return (len(vector) - int(np.count_nonzero(vector))) / len(vector) if len(vector) else 0.0
