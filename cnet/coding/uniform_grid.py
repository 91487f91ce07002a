"""Centroids on a uniform grid: integer multiples of one step size, and the labels of such multiples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import slices

Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

MAX_MULTIPLE = 2**17
"""Multiples are smaller than this in magnitude."""

_FIT_REACHES = (64.0, 4096.0, np.inf)  # in steps


@dataclass(frozen=True, eq=False)
class UniformGrid:
    """Centroids that are ``step * multiples``, computed and rounded in the type of ``step``.

    Attributes:
        step: the step size, a positive float32 or float64.
        multiples: int64, shape (centroids,), ascending, none of them 0.
    """

    step: np.floating
    multiples: npt.NDArray[np.int64]

    def centroids(self) -> Floats:
        """The centroids, shape (centroids,), of the step's type: one IEEE product each, the same on every machine."""
        with np.errstate(over="ignore", invalid="ignore"):  # only with a forged step; the decoder checks the result
            centroids: Floats = self.multiples.astype(self.step.dtype) * self.step
        return centroids


def find_grid(centroids: Floats) -> UniformGrid | None:
    """The grid that centroids lie on, bit for bit, or None.

    The step is the smallest distance between two centroids, or between one and 0, made exact by the multiples that it
    gives; or half of that, as some grids have odd multiples alone.

    Args:
        centroids: shape (centroids,), float32 or float64, finite, ascending and distinct.
    """
    if not len(centroids) or np.any(centroids == 0):
        return None
    with np.errstate(all="ignore"):  # what overflows is on no grid, which the comparison below finds
        wide = centroids.astype(np.float64)
        for least in (_least_distance(wide), _least_distance(wide) / 2):
            near = centroids.dtype.type(_fit_step(wide, least))
            for step in (near, np.nextafter(near, near * 2), np.nextafter(near, near / 2)):
                multiples = np.rint(wide / step)
                if step > 0 and np.all(np.abs(multiples) < MAX_MULTIPLE):
                    grid = UniformGrid(step, multiples.astype(np.int64))
                    if np.array_equal(grid.centroids(), centroids):
                        return grid
    return None


def _least_distance(centroids: npt.NDArray[np.float64]) -> float:
    return min(float(np.min(np.abs(centroids))), float(np.min(np.diff(centroids), initial=np.inf)))


def _fit_step(centroids: npt.NDArray[np.float64], step: float) -> float:
    """The step of least squared error near a first guess.

    The multiples of centroids that are few steps from 0 are certain; each round makes those farther away certain too.
    """
    largest = float(np.max(np.abs(centroids)))
    for reach in _FIT_REACHES:
        within = np.abs(centroids) <= min(largest, reach * step)
        multiples = np.rint(centroids[within] / step)
        weight = float(np.sum(multiples * multiples))
        if weight > 0 and np.isfinite(weight):
            step = float(np.sum(centroids[within] / step * multiples)) / weight * step
    return step


def label_integers(integers: npt.NDArray[np.signedinteger]) -> tuple[Labels, npt.NDArray[np.int64]]:
    """Labels of integers of a narrow range, and the distinct integers that they stand for.

    The same as ``numpy.unique`` with its inverse, in one pass over the integers instead of a sort.

    Args:
        integers: shape (n,), of a signed integer type.

    Returns:
        labels, shape (n,), uint8 or uint16; and the integers, shape (labels used,), int64, ascending.
    """
    low, high = (int(integers.min()), int(integers.max())) if len(integers) else (0, 0)
    used = np.zeros(high - low + 1, np.bool_)
    for part in slices(len(integers)):
        used[integers[part].astype(np.int64) - low] = True
    distinct = np.flatnonzero(used)
    table = narrow_labels(np.cumsum(used) - 1, len(distinct))
    labels = np.empty(len(integers), table.dtype)
    for part in slices(len(integers)):
        labels[part] = table[integers[part].astype(np.int64) - low]
    return labels, distinct.astype(np.int64) + low


def narrow_labels(labels: npt.NDArray[np.integer], clusters: int) -> Labels:
    """Labels, shape (n,), of any integer type, as uint8 up to 256 clusters and as uint16 beyond."""
    return labels.astype(np.uint8) if clusters <= 256 else labels.astype(np.uint16)
