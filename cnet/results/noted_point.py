"""The point of a bundle, from what its run has noted in it and from its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cnet.errors import BundleError
from cnet.results.points import BaselineResult, Point

if TYPE_CHECKING:
    from cnet.bundle import BundleSizes


def noted_point(name: str, metrics: Mapping[str, Any] | None, sizes: BundleSizes) -> tuple[BaselineResult, Point]:
    """The network before compression, and the point, whose index is 0.

    Args:
        name: of the bundle, for the error.
        metrics: what the run has noted (``Bundle.metrics``).
        sizes: of the bundle's file.

    Raises:
        BundleError: (``no_metrics``) nothing, or too little, is noted.
    """
    try:
        noted = dict(metrics or {})
        baseline = BaselineResult.from_json(noted["baseline"])
        parts = asdict(sizes)
        weights = sizes.mask + sizes.labels + sizes.centroids
        document = {
            **noted,
            "index": 0,
            "bytes": parts,
            "sha256": parts.pop("sha256"),
            "ratio": baseline.npz_bytes / sizes.total,
            "ratio_weights": baseline.compressible_npz_bytes / weights if weights else None,
            "ratio_raw": baseline.raw_bytes / sizes.total,
            "bits_per_parameter": 8 * sizes.total / baseline.parameters,
        }
        return baseline, Point.from_json(document)
    except (KeyError, TypeError) as error:
        raise BundleError(
            f"{name}: it holds no numbers of the run that wrote it. Name the job, or compress the network again.",
            code="no_metrics",
        ) from error
