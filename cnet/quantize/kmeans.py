"""One-dimensional k-means: a codebook within half a percent of the best possible squared error.

In one dimension the clusters of an optimal solution are intervals of the sorted values, so that k-means is no search
among local optima but a shortest path, solved exactly by dynamic programming (Wang and Song, "Ckmeans.1d.dp", The R
Journal 3/2, 2011). Few clusters start from that programme on a histogram, many from the density of an optimal codebook
(``_intervals``); exchanges, shifts of chains of boundaries and Lloyd's iteration then make it better (``_exchange``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.capabilities import SearchConditions
from cnet.documents import Sweep
from cnet.errors import CheckpointError, SpecError
from cnet.quantize._base import QUANTIZERS, Codebook, Parts
from cnet.quantize._intervals import cluster
from cnet.quantize._nearest import nearest, used
from cnet.quantize._points import Points
from cnet.quantize._scope import Scoped

Floats = npt.NDArray[np.floating]

_MANY = 2**16
_MOST_DISTINCT = 2**22  # that are sorted out part by part
_MOST_STREAMED = 1024  # clusters for which groups of values will do, whatever the net
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

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"clusters": tuple((2**bits,) for bits in range(8, 0, -1))}

    clusters: Sweep[Clusters] = Field(
        default=(256,), description="Largest number of shared values; a list makes one point each."
    )

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self:
        """The defaults, whatever the job's other parts are."""
        del conditions
        return cls()

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
        given = values if values.dtype == np.float64 else np.asarray(values, np.float32)
        centroids, places = self._found(lambda: [given], clusters)
        return _without_unused(given, centroids, places)

    @property
    def streams(self) -> bool:
        """One codebook for the whole net is found from groups of values."""
        return self.scope == "network" and max(self.clusters) <= _MOST_STREAMED

    def fitted(self, parts: Parts, clusters: int | None) -> Nearest:
        """The same codebook of float32 values that are given part by part.

        Raises:
            CheckpointError: ``not_finite``.
            SpecError: so many clusters of so many values need all of them at once, or each layer has its own.
        """
        if self.scope != "network":
            detail = "a codebook for each layer needs all weights in memory: do not stream"
            raise SpecError(detail, code="cannot_stream")
        return Nearest.of(parts, *self._found(parts, clusters))

    def _found(self, parts: Parts, clusters: int | None) -> tuple[Floats, Floats]:
        """The centroids, of which some may be in no use, and what they were before rounding."""
        limit = self.clusters[0] if clusters is None else clusters
        points = _points(parts, limit)
        if len(points.values) and not np.all(np.isfinite(points.values[[0, -1]])):  # NaN sorts to the end
            raise CheckpointError("weights that are NaN or infinite cannot be clustered", code="not_finite")
        if len(points.values) <= limit:
            return _as_float32(points.values, exactly=True), points.values
        # Clusters are disjoint intervals of values, so their means mostly stay apart when rounded.
        centroids = np.unique(_as_float32(cluster(points, limit), exactly=False))
        return centroids, centroids


@dataclass(frozen=True, eq=False)
class Nearest:
    """Labels by the nearest of some places.

    Attributes:
        places: ascending.
        numbers: the label of each place, of a place that no value is near anything.
        centroids: of the labels.
    """

    places: Floats
    numbers: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    centroids: Floats

    @classmethod
    def of(cls, parts: Parts, centroids: Floats, places: Floats) -> Nearest:
        """The centroids that are the nearest of some value."""
        kept = np.zeros(len(centroids), np.bool_)
        for part in parts():
            kept |= used(nearest(part, places), len(places)) if len(part) else False
            if np.all(kept):
                break
        return cls(places, _renumbered(kept), centroids[kept])

    def labels(self, values: Floats) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
        """The labels of some values."""
        return self.numbers[nearest(values, self.places)] if len(values) else self.numbers[:0]


def _as_float32(values: npt.NDArray[np.floating], *, exactly: bool) -> npt.NDArray[np.floating]:
    """Values as float32, the type of centroids; unchanged where it cannot hold them (``exactly``: to the bit)."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    fits = np.array_equal(narrow, values) if exactly else bool(np.all(np.isfinite(narrow)))
    return narrow if fits else values


def _points(parts: Parts, clusters: int) -> Points:
    """The distinct values; of many values, and where clusters are few, groups of nearly equal ones."""
    count = sum(len(part) for part in parts())
    given = list(itertools.islice(parts(), 2)) if count > _MANY else list(parts())
    if count > _MANY and given[0].dtype == np.float32:
        with np.errstate(invalid="ignore"):  # what is no number is found by the caller
            points = Points.coarse(part.view(np.float32) for part in parts())
        if len(points.values) > _POINTS_PER_CLUSTER * clusters:
            return points
        if len(given) > 1:
            found = Points.distinct(parts(), _MOST_DISTINCT)
            if found is None:
                detail = f"{clusters} clusters of {count} values need all of them in memory: do not stream"
                raise SpecError(detail, code="cannot_stream")
            return found
    return Points.of(given[0] if len(given) == 1 else np.concatenate([np.empty(0, np.float32), *given]))


def _without_unused(
    values: npt.NDArray[np.floating], centroids: npt.NDArray[np.floating], places: npt.NDArray[np.floating]
) -> Codebook:
    """Labels by the nearest of ``places``, the centroids before rounding; those that no value is near are dropped."""
    labels = nearest(values, places)
    kept = used(labels, len(centroids))
    if np.all(kept):
        return Codebook(labels, centroids)
    return Codebook(_renumbered(kept)[labels], centroids[kept])


def _renumbered(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """For each place its number among those that are kept."""
    numbers = np.cumsum(kept) - 1
    return numbers.astype(np.uint8) if np.count_nonzero(kept) <= 256 else numbers.astype(np.uint16)
