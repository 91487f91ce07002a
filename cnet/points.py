"""The numbers of a run: the baseline, and one point for each sparsity and cluster count.

Their JSON forms are those of the HTTP contract. Accuracies are percentages 0..100, sizes are bytes, sparsities are
fractions 0..1, entropies are bits. A number that does not exist (or is not finite) is null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class BaselineResult:
    """The net before compression.

    Attributes:
        accuracy: percent on the test images, None without a data set.
        loss: mean cross-entropy on the test images, None without a data set.
        raw_bytes: bytes of all elements in their own types.
        npz_bytes: size of all tensors as ``numpy.savez_compressed`` writes them.
        compressible_npz_bytes: size of the one float32 vector of compressible weights, written the same way.
        parameters: elements of all tensors, buffers too; tied tensors once.
        compressible_parameters: length of w_net.
    """

    accuracy: float | None
    loss: float | None
    raw_bytes: int
    npz_bytes: int
    compressible_npz_bytes: int
    parameters: int
    compressible_parameters: int

    def to_json(self) -> dict[str, Any]:
        """The contract's ``baseline``; all values are JSON numbers or null."""
        return _strict(asdict(self))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``; members that are not ours are ignored."""
        return cls(**_own(cls, document))


@dataclass(frozen=True)
class PartBytes:
    """Size of each part of a bundle's file; ``total`` is the file's size and the sum of the others."""

    mask: int
    labels: int
    centroids: int
    other_tensors: int
    container: int
    total: int


@dataclass(frozen=True)
class LayerResult:
    """One compressible tensor at one point.

    Attributes:
        parameters: its entries; where it is kept as two factors, here and in what follows, theirs.
        kept: entries that are not zero after decoding.
        sparsity: fraction of entries that are zero.
        mse: mean of (decoded - original)² over its own entries, zeros included.
        clusters: distinct labels in use, None where values are kept as they are.
        label_entropy: bits, of this tensor's labels.
    """

    name: str
    shape: tuple[int, ...]
    parameters: int
    kept: int
    sparsity: float
    mse: float
    clusters: int | None
    label_entropy: float | None

    def to_json(self) -> dict[str, Any]:
        """Its row in the metrics document."""
        return _strict({**asdict(self), "shape": list(self.shape)})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        return cls(**{**_own(cls, document), "shape": tuple(document["shape"])})


@dataclass(frozen=True)
class Point:
    """One compressed net: what was asked for, what came out, and what it costs.

    Attributes:
        sparsity_requested, clusters_requested: what the job asked for.
        sparsity, clusters: what the bundle holds: counted zeros (of factors, where tensors are kept as such), and
            centroids (None where there are none).
        accuracy, loss: of the net decoded from the bundle's bytes; None without a data set.
        accuracy_before_quantize: of the pruned and recovered net.
        ratio: npz of the original / bundle.
        ratio_weights: npz of the compressible weights / (mask + labels + centroids), the paper's own.
        ratio_raw: raw bytes of the original / bundle.
        bits_per_parameter: 8 * bundle / parameters.
        label_entropy: bits, sum of -p log2 p over the cluster populations.
        mse: over w_net, of the decoded weights against those just before pruning.
        sha256: of the bundle's file, hex.
        layers: one row a compressible tensor, in order of w_net.
    """

    index: int
    sparsity_requested: float
    sparsity: float
    clusters_requested: int | None
    clusters: int | None
    accuracy: float | None
    accuracy_before_quantize: float | None
    loss: float | None
    ratio: float
    ratio_weights: float | None
    ratio_raw: float
    bits_per_parameter: float | None
    label_entropy: float | None
    bytes: PartBytes
    mse: float
    sha256: str
    layers: tuple[LayerResult, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The contract's Point, without ``bundle_url`` and without the rows a layer."""
        document = {**asdict(self), "bytes": asdict(self.bytes)}
        del document["layers"]
        return _strict(document)

    def to_metrics(self) -> dict[str, Any]:
        """``to_json`` and the member ``layers``: everything that is known of the point."""
        return {**self.to_json(), "layers": [layer.to_json() for layer in self.layers]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json`` and of ``to_metrics``; members that are not ours are ignored."""
        own = _own(cls, document)
        own["bytes"] = PartBytes(**_own(PartBytes, document["bytes"]))
        own["layers"] = tuple(LayerResult.from_json(row) for row in document.get("layers", ()))
        return cls(**own)


def _own(cls: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Those members of ``document`` that are fields of the dataclass ``cls``."""
    return {field.name: document[field.name] for field in fields(cls) if field.name in document}


def _strict(document: dict[str, Any]) -> dict[str, Any]:
    """The document with null for every number that JSON does not have."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in document.items()
    }
