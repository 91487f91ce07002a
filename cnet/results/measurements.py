"""What the metrics of a run are computed from (``cnet.results.points``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cnet.results.measures import WeightCounts
from cnet.weights import Weights

if TYPE_CHECKING:
    from cnet.results.points import BaselineResult, PartBytes


@dataclass(frozen=True, eq=False)
class BaselineMeasurement:
    """What is known of the network before compression.

    Attributes:
        weights: all its tensors.
        accuracy: percent on the test images, None without a data set.
        loss: mean cross-entropy on the test images, None without a data set.
    """

    weights: Weights
    accuracy: float | None
    loss: float | None


@dataclass(frozen=True, eq=False)
class TensorMeasurement:
    """What was measured of one compressible tensor: its name, shape and counts."""

    name: str
    shape: tuple[int, ...]
    counts: WeightCounts


@dataclass(frozen=True, eq=False)
class NetworkMeasurement:
    """What was measured of the network that a bundle decodes to.

    Attributes:
        accuracy: percent on the test images, None without a data set.
        accuracy_before_quantize: of the network that was pruned and recovered, and not yet quantized.
        loss: mean cross-entropy on the test images, None without a data set.
        centroids: number of centroids, None where values are kept as they are.
        counts: over all of w_net.
        tensors: of each compressible tensor, in order of w_net.
    """

    accuracy: float | None
    accuracy_before_quantize: float | None
    loss: float | None
    centroids: int | None
    counts: WeightCounts
    tensors: tuple[TensorMeasurement, ...]


@dataclass(frozen=True, eq=False)
class PointMeasurement:
    """What is known of a point before its file is finished.

    Attributes:
        index: how many points of the run come before it.
        sparsity: what was asked of the pruner.
        clusters: what was asked of the quantizer, None where it has no such number.
        quantizer: name of the quantizer.
        settings: of the quantizer, by the names of the metrics that report them.
        network: of the decoded network.
        baseline: the network before compression.
    """

    index: int
    sparsity: float
    clusters: int | None
    quantizer: str
    settings: Mapping[str, float]
    network: NetworkMeasurement
    baseline: BaselineResult


@dataclass(frozen=True, eq=False)
class BundleMeasurement(PointMeasurement):
    """A point with all its metrics, and sizes and SHA-256 (hex) of its bundle."""

    bytes: PartBytes
    sha256: str
