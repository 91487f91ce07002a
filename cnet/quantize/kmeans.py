"""One-dimensional k-means: a codebook within half a percent of the least possible squared error.

In one dimension k-means is not a search among local optima but a shortest path, which dynamic programming solves
exactly (Wang and Song, "Ckmeans.1d.dp", The R Journal 3/2, 2011). ``cnet.quantize.kmeans1d`` holds the numerics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.documents import Sweep
from cnet.errors import CheckpointError, SpecError
from cnet.parts.capabilities import SearchConditions
from cnet.quantize._scope import Scoped
from cnet.quantize.kmeans1d import GroupingLimits, assign_labels, cluster, find_used, weighted_points
from cnet.quantize.quantizer import QUANTIZERS, Codebook, Labels, ValueChunks

Floats = npt.NDArray[np.floating]
Clusters = Annotated[int, Field(ge=1, le=65536)]

_MAX_STREAMED_CLUSTERS = 1024  # for so many, groups of values are fine enough whatever the weights are


@QUANTIZERS.register("kmeans")
class KMeans(Scoped):
    """Replaces each kept weight by the mean of its cluster.

    Where the values have no more than ``clusters`` distinct ones, these are the centroids and nothing is lost.
    """

    name: Literal["kmeans"] = "kmeans"
    summary: ClassVar[str] = "1-D k-means over all non-zero weights, near the optimum."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019); Wang and Song (2011)"

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"clusters": tuple((2**bits,) for bits in range(8, 0, -1))}
    #: When many values are grouped before they are clustered.
    grouping: ClassVar[GroupingLimits] = GroupingLimits()

    clusters: Sweep[Clusters] = Field(
        default=(256,),
        description="Largest number of shared values (centroids). A list makes one point for each number.",
    )

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self:
        """The defaults, whatever the job's other parts are."""
        del conditions
        return cls()

    def cluster_counts(self) -> tuple[int | None, ...]:
        """The field ``clusters``."""
        return self.clusters

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:
        """Labels and centroids of some values.

        Args:
            values: float32 or float64, finite, shape (n,).
            clusters: largest number of centroids; None: the first of the field ``clusters``.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        given = values if values.dtype == np.float64 else np.asarray(values, np.float32)
        centroids, exact = self._find_centroids(lambda: [given], clusters)
        return _without_unused(given, centroids, exact)

    @property
    def streams(self) -> bool:
        """Whether there is one codebook for the whole model, of so few clusters that groups of values are enough."""
        return self.scope == "network" and max(self.clusters) <= _MAX_STREAMED_CLUSTERS

    def fit_chunks(self, chunks: ValueChunks, clusters: int | None) -> NearestCentroids:
        """The codebook that ``quantize`` finds, of float32 values that are given chunk by chunk.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
            SpecError: ``cannot_stream``, where each layer has its own codebook, or so many clusters of such values
                need all values in memory.
        """
        if self.scope != "network":
            detail = "quantizer 'kmeans': a codebook for each layer needs all weights in memory. Do not stream."
            raise SpecError(detail, code="cannot_stream")
        return NearestCentroids.of(chunks, *self._find_centroids(chunks, clusters))

    def _find_centroids(self, chunks: ValueChunks, clusters: int | None) -> tuple[Floats, Floats]:
        """The centroids, some of which may be the nearest of no value, and what they were before rounding."""
        limit = self.clusters[0] if clusters is None else clusters
        points = weighted_points(chunks, limit, self.grouping)
        if len(points.values) and not np.all(np.isfinite(points.values[[0, -1]])):  # NaN is sorted to the end
            raise CheckpointError(
                "kmeans: some weights are NaN or infinite. Save the checkpoint from before the training diverged.",
                code="not_finite",
            )
        if len(points.values) <= limit:
            return _to_float32(points.values, exactly=True), points.values
        # Clusters are disjoint intervals of values, so that their means mostly stay apart when rounded.
        centroids = np.unique(_to_float32(cluster(points, limit), exactly=False))
        return centroids, centroids


@dataclass(frozen=True, eq=False)
class NearestCentroids:
    """A codebook whose labels follow from the nearest centroid (``cnet.quantize.quantizer.FittedCodebook``).

    Attributes:
        exact: what the centroids were before rounding, ascending, with those that no value is nearest to, shape (m,).
        label_of: the label of each of ``exact``, uint8 or uint16, shape (m,); arbitrary where no value is nearest.
        centroids: of the labels, shape (k,).
    """

    exact: Floats
    label_of: Labels
    centroids: Floats

    @classmethod
    def of(cls, chunks: ValueChunks, centroids: Floats, exact: Floats) -> NearestCentroids:
        """The ``centroids`` that are nearest to some value; ``exact``: before rounding, both of shape (m,)."""
        is_used = np.zeros(len(centroids), np.bool_)
        for chunk in chunks():
            is_used |= find_used(assign_labels(chunk, exact), len(exact)) if len(chunk) else False
            if np.all(is_used):
                break
        return cls(exact, _renumber(is_used), centroids[is_used])

    def assign_labels(self, values: Floats) -> Labels:
        """The label of each of some values, both of shape (n,)."""
        return self.label_of[assign_labels(values, self.exact)] if len(values) else self.label_of[:0]


def _to_float32(values: Floats, *, exactly: bool) -> Floats:
    """The values as float32, the type of centroids, or as they are where float32 cannot hold them.

    ``exactly`` means that every bit must be held, otherwise only that no value may become infinite.
    """
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    fits = np.array_equal(narrow, values) if exactly else bool(np.all(np.isfinite(narrow)))
    return narrow if fits else values


def _without_unused(values: Floats, centroids: Floats, exact: Floats) -> Codebook:
    """Labels by the nearest of ``exact``, the centroids before rounding; centroids that no value needs are dropped."""
    labels = assign_labels(values, exact)
    is_used = find_used(labels, len(centroids))
    if np.all(is_used):
        return Codebook(labels, centroids)
    return Codebook(_renumber(is_used)[labels], centroids[is_used])


def _renumber(is_used: npt.NDArray[np.bool_]) -> Labels:
    """The number of each centroid among those that are used, shape (m,) as ``is_used``."""
    numbers = np.cumsum(is_used) - 1
    return numbers.astype(np.uint8) if np.count_nonzero(is_used) <= 256 else numbers.astype(np.uint16)
