"""One-dimensional k-means: a codebook within half a percent of the best possible squared error.

In one dimension the clusters of an optimal solution are intervals of the sorted values, so that k-means is no search
among local optima but a shortest path, solved exactly by dynamic programming (Wang and Song, "Ckmeans.1d.dp", The R
Journal 3/2, 2011). Few clusters start from that programme on a histogram, many from the density of an optimal codebook
(``_intervals``); exchanges, shifts of chains of boundaries and Lloyd's iteration then make it better (``_exchange``).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.errors import CheckpointError
from cnet.quantize._base import QUANTIZERS, Codebook
from cnet.quantize._intervals import cluster
from cnet.quantize._nearest import nearest, used
from cnet.quantize._points import Points
from cnet.quantize._scope import Scoped
from cnet.sweep import Sweep

_MANY = 2**16
_POINTS_PER_CLUSTER = 32

Clusters = Annotated[int, Field(ge=1, le=65536)]


@QUANTIZERS.register("kmeans")
class KMeans(Scoped):
    """Each kept weight becomes the mean of its cluster.

    Where the values have no more than ``clusters`` distinct ones, these are the centroids and nothing is lost.
    """

    name: Literal["kmeans"] = "kmeans"
    summary: ClassVar[str] = "1-D k-means over all non-zeros of the net, near the optimum."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019); Wang and Song (2011)"

    clusters: Sweep[Clusters] = Field(
        default=(256,), description="Largest number of shared values; a list makes one point each."
    )

    def levels(self) -> tuple[int | None, ...]:
        """The cluster counts asked for."""
        return self.clusters

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Labels and centroids of ``values``.

        Args:
            values: shape (kept,), float32 or float64; finite.
            clusters: largest number of centroids; None is the first of ``self.clusters``.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        limit = self.clusters[0] if clusters is None else clusters
        given = values if values.dtype == np.float64 else np.asarray(values, np.float32)
        points = _points(given, limit)
        if len(points.values) and not np.all(np.isfinite(points.values[[0, -1]])):  # NaN sorts to the end
            raise CheckpointError("weights that are NaN or infinite cannot be clustered", code="not_finite")
        if len(points.values) <= limit:
            return _without_unused(given, _as_float32(points.values, exactly=True), points.values)
        # Clusters are disjoint intervals of values, so their means mostly stay apart when rounded.
        centroids = np.unique(_as_float32(cluster(points, limit), exactly=False))
        return _without_unused(given, centroids, centroids)


def _as_float32(values: npt.NDArray[np.floating], *, exactly: bool) -> npt.NDArray[np.floating]:
    """Values as float32, the type of centroids; unchanged where it cannot hold them (``exactly``: to the bit)."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    fits = np.array_equal(narrow, values) if exactly else bool(np.all(np.isfinite(narrow)))
    return narrow if fits else values


def _points(values: npt.NDArray[np.floating], clusters: int) -> Points:
    """The distinct values; of many values, and where clusters are few, groups of nearly equal ones."""
    if len(values) > _MANY and values.dtype == np.float32:
        with np.errstate(invalid="ignore"):  # what is no number is found by the caller
            points = Points.coarse(values.view(np.float32))
        if len(points.values) > _POINTS_PER_CLUSTER * clusters:
            return points
    return Points.of(values)


def _without_unused(
    values: npt.NDArray[np.floating], centroids: npt.NDArray[np.floating], places: npt.NDArray[np.floating]
) -> Codebook:
    """Labels by the nearest of ``places``, the centroids before rounding; those that no value is near are dropped."""
    labels = nearest(values, places)
    kept = used(labels, len(centroids))
    if np.all(kept):
        return Codebook(labels, centroids)
    renumbered = np.cumsum(kept) - 1
    fits = np.count_nonzero(kept) <= 256
    return Codebook((renumbered.astype(np.uint8) if fits else renumbered.astype(np.uint16))[labels], centroids[kept])
