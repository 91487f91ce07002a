"""The parts of a bundle: their sizes in its file, and each compressible tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from cnet.results.baseline import finite_values, own_members
from cnet.results.histogram import WeightHistogram
from cnet.results.measurements import TensorMeasurement
from cnet.results.metrics import Metric, declare


def _part(description: str, heading: str, compute: Callable[[Any], int]) -> Any:
    return declare(Metric("bytes", description, "file", compute, heading=heading, cell="{:,}".format))


def _layer(unit: str, description: str, compute: Callable[[TensorMeasurement], Any]) -> Any:
    return declare(Metric(unit, description, "network", compute))


@dataclass(frozen=True)
class PartBytes:
    """Size of each part of a bundle's file; ``total`` is the file's size, and the sum of the others."""

    mask: int = field(metadata=_part("Size of the mask in the file.", "mask", lambda m: m.mask))
    labels: int = field(metadata=_part("Size of the labels in the file.", "labels", lambda m: m.labels))
    centroids: int = field(metadata=_part("Size of the centroids in the file.", "centroids", lambda m: m.centroids))
    other_tensors: int = field(
        metadata=_part("Size of the tensors that are not compressible.", "other", lambda m: m.other_tensors)
    )
    container: int = field(
        metadata=_part("Size of everything else: zip records and manifest.", "container", lambda m: m.container)
    )
    total: int = field(metadata=_part("Size of the file, the sum of its parts.", "bytes", lambda m: m.total))

    @property
    def symbols(self) -> int:
        """Bytes of mask, labels and centroids."""
        return self.mask + self.labels + self.centroids


@dataclass(frozen=True)
class LayerResult:
    """One compressible tensor at one point. Where it is stored as two factors, counts are those of the factors."""

    name: str = field(metadata=_layer("", "Name of the tensor.", lambda m: m.name))
    shape: tuple[int, ...] = field(metadata=_layer("", "Shape of the tensor.", lambda m: m.shape))
    parameters: int = field(metadata=_layer("", "Weights of the tensor.", lambda m: m.counts.weights))
    kept: int = field(metadata=_layer("", "Weights that are not zero after decoding.", lambda m: m.counts.nonzero))
    sparsity: float = field(metadata=_layer("fraction", "Weights that are zero.", lambda m: m.counts.sparsity))
    mse: float = field(
        metadata=_layer("", "Mean of (decoded - original)² over the tensor, zeros included.", lambda m: m.counts.mse)
    )
    clusters: int | None = field(
        metadata=_layer(
            "", "Labels in use; null where values are kept as they are.", lambda m: m.counts.clusters_in_use
        )
    )
    label_entropy: float | None = field(
        metadata=_layer("bits per label", "Entropy of the tensor's labels.", lambda m: m.counts.label_entropy)
    )
    snr_db: float | None = field(
        default=None,
        metadata=_layer(
            "dB",
            "10 log10 of the energy of the tensor's weights ÷ that of their errors; null where none changed.",
            lambda m: m.counts.snr_db,
        ),
    )
    bits_per_weight: float | None = field(
        default=None,
        metadata=_layer(
            "bits",
            "Entropy of the tensor's mask and labels ÷ its weights. Encoders that use context need less. Null where "
            "values are kept as they are.",
            lambda m: m.counts.entropy_per_weight,
        ),
    )
    histogram: WeightHistogram | None = field(
        default=None,
        metadata=_layer(
            "", "Histogram of the tensor's weights before and after; null where all are zero.", lambda m: m.histogram
        ),
    )

    def to_json(self) -> dict[str, Any]:
        """Its row in the metrics document."""
        histogram = self.histogram and self.histogram.to_json()
        return finite_values({**vars(self), "shape": list(self.shape), "histogram": histogram})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        own = {**own_members(cls, document), "shape": tuple(document["shape"])}
        return cls(**{**own, "histogram": WeightHistogram.from_json(own.get("histogram"))})
