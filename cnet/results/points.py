"""The results of a run: the baseline, and one point for each bundle; every metric is declared here.

Their JSON forms are those of the HTTP contract. A number that does not exist, or is not finite, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from cnet.results.measurements import BaselineMeasurement, BundleMeasurement, TensorMeasurement
from cnet.results.measures import npz_bytes, npz_vector_bytes
from cnet.results.metrics import Metric, Source, declare, finite


def _baseline(unit: str, description: str, compute: Callable[[BaselineMeasurement], Any], **shown: Any) -> Any:
    return declare(Metric(unit, description, "network", compute, **{"noted": "exact", **shown}))


def _part(description: str, heading: str, compute: Callable[[Any], int]) -> Any:
    return declare(Metric("bytes", description, "file", compute, heading=heading, cell="{:,}".format))


def _layer(unit: str, description: str, compute: Callable[[TensorMeasurement], Any]) -> Any:
    return declare(Metric(unit, description, "network", compute))


def _point(
    source: Source, unit: str, description: str, compute: Callable[[BundleMeasurement], Any], **shown: Any
) -> Any:
    return declare(Metric(unit, description, source, compute, **shown))


@dataclass(frozen=True)
class BaselineResult:
    """The network before compression."""

    accuracy: float | None = field(
        metadata=_baseline("percent", "Accuracy on the test images; null without a data set.", lambda m: m.accuracy)
    )
    loss: float | None = field(
        metadata=_baseline(
            "nats",
            "Mean cross-entropy on the test images; null without a data set.",
            lambda m: m.loss,
            noted="rounded",
        )
    )
    raw_bytes: int = field(
        metadata=_baseline("bytes", "Size of all elements in their own types.", lambda m: m.weights.raw_bytes)
    )
    npz_bytes: int = field(
        metadata=_baseline(
            "bytes",
            "Size of all tensors as `numpy.savez_compressed` writes them, one member each.",
            lambda m: npz_bytes(m.weights),
        )
    )
    compressible_npz_bytes: int = field(
        metadata=_baseline(
            "bytes",
            "Size of the compressible weights, as one float32 vector that `numpy.savez_compressed` writes.",
            lambda m: npz_vector_bytes(m.weights),
        )
    )
    parameters: int = field(
        metadata=_baseline("", "Elements of all tensors, tied ones once.", lambda m: m.weights.parameters)
    )
    compressible_parameters: int = field(
        metadata=_baseline("", "Compressible weights.", lambda m: m.weights.compressible_parameters)
    )

    def to_json(self) -> dict[str, Any]:
        """The contract's ``baseline``; all values are JSON numbers or null."""
        return _finite_values(asdict(self))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``; other members are ignored."""
        return cls(**_own_members(cls, document))


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

    def to_json(self) -> dict[str, Any]:
        """Its row in the metrics document."""
        return _finite_values({**asdict(self), "shape": list(self.shape)})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        return cls(**{**_own_members(cls, document), "shape": tuple(document["shape"])})


@dataclass(frozen=True)
class Point:
    """One compressed network: what was asked for, what came out, and what it costs; ``layers`` in order of w_net."""

    index: int = field(
        metadata=_point("request", "", "How many points of the job come before it.", lambda m: m.index, heading="point")
    )
    sparsity_requested: float = field(
        metadata=_point("request", "fraction", "What was asked of the pruner.", lambda m: m.sparsity, noted="exact")
    )
    sparsity: float = field(
        metadata=_point(
            "network",
            "fraction",
            "Compressible weights (or weights of factors) that are zero, counted on what the bundle decodes to.",
            lambda m: m.network.counts.sparsity,
            noted="rounded",
            heading="sparsity",
            cell="{:.4f}".format,
        )
    )
    clusters_requested: int | None = field(
        metadata=_point("request", "", "What was asked of the quantizer.", lambda m: m.clusters, noted="exact")
    )
    clusters: int | None = field(
        metadata=_point(
            "network",
            "",
            "Centroids in the bundle; null where values are kept as they are.",
            lambda m: m.network.centroids,
            noted="exact",
            heading="clusters",
        )
    )
    accuracy: float | None = field(
        metadata=_point(
            "network",
            "percent",
            "Accuracy of the decoded network on the test images; null without a data set.",
            lambda m: m.network.accuracy,
            noted="exact",
            heading="accuracy",
            cell="{:.2f} %".format,
        )
    )
    accuracy_before_quantize: float | None = field(
        metadata=_point(
            "network",
            "percent",
            "Accuracy of the network that was pruned and recovered, and not yet quantized.",
            lambda m: m.network.accuracy_before_quantize,
            noted="exact",
        )
    )
    loss: float | None = field(
        metadata=_point(
            "network",
            "nats",
            "Mean cross-entropy of the decoded network on the test images; null without a data set.",
            lambda m: m.network.loss,
            noted="rounded",
        )
    )
    ratio: float = field(
        metadata=_point(
            "file",
            "",
            "Compression ratio: `npz_bytes` of the baseline ÷ bytes of the bundle, all of it.",
            lambda m: m.baseline.npz_bytes / m.bytes.total,
            heading="ratio",
            cell="{:.2f}".format,
        )
    )
    ratio_weights: float | None = field(
        metadata=_point(
            "file",
            "",
            "The paper's ratio: `compressible_npz_bytes` of the baseline ÷ bytes of mask, labels and centroids.",
            lambda m: (
                m.baseline.compressible_npz_bytes / m.bytes.symbols if m.baseline.compressible_parameters else None
            ),
        )
    )
    ratio_raw: float = field(
        metadata=_point(
            "file",
            "",
            "`raw_bytes` of the baseline ÷ bytes of the bundle.",
            lambda m: m.baseline.raw_bytes / m.bytes.total,
        )
    )
    bits_per_parameter: float | None = field(
        metadata=_point(
            "file",
            "bits",
            "8 · bytes of the bundle ÷ `parameters` of the baseline.",
            lambda m: 8 * m.bytes.total / m.baseline.parameters if m.baseline.parameters else None,
        )
    )
    label_entropy: float | None = field(
        metadata=_point(
            "network",
            "bits per label",
            "Entropy of the labels, Σ -p log2 p over the cluster populations; null where there are no labels.",
            lambda m: m.network.counts.label_entropy,
            noted="rounded",
        )
    )
    bytes: PartBytes = field(metadata=_point("file", "bytes", "Size of the bundle's file by part.", lambda m: m.bytes))
    mse: float = field(
        metadata=_point(
            "network",
            "",
            "Mean of (decoded - original)² over the compressible weights; original: just before pruning.",
            lambda m: m.network.counts.mse,
            noted="rounded",
        )
    )
    sha256: str = field(metadata=_point("file", "", "SHA-256 of the bundle's file, hex.", lambda m: m.sha256))
    layers: tuple[LayerResult, ...] = ()
    quantizer: str | None = field(
        default=None, metadata=_point("request", "", "Name of the quantizer.", lambda m: m.quantizer)
    )
    step: float | None = field(
        default=None,
        metadata=_point("request", "", "Step size of the quantizer's grid.", lambda m: m.settings.get("step")),
    )
    mu: float | None = field(
        default=None,
        metadata=_point(
            "request",
            "",
            "Lagrange multiplier of the quantizer's rate.",
            lambda m: m.settings.get("mu"),
        ),
    )

    def to_json(self) -> dict[str, Any]:
        """The contract's Point, without ``bundle_url`` and ``layers``."""
        document = asdict(self)
        del document["layers"]
        return _finite_values(document)

    def to_metrics(self) -> dict[str, Any]:
        """``to_json`` and the member ``layers``: everything that is known of the point."""
        return {**self.to_json(), "layers": [layer.to_json() for layer in self.layers]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json`` and of ``to_metrics``; other members are ignored."""
        own = _own_members(cls, document)
        own["bytes"] = PartBytes(**_own_members(PartBytes, document["bytes"]))
        own["layers"] = tuple(LayerResult.from_json(row) for row in document.get("layers", ()))
        return cls(**own)


def _own_members(cls: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The members of ``document`` that are fields of the dataclass ``cls``."""
    return {each.name: document[each.name] for each in fields(cls) if each.name in document}


def _finite_values(document: dict[str, Any]) -> dict[str, Any]:
    """The document with null for every number that JSON does not have."""
    return {key: finite(value) for key, value in document.items()}
