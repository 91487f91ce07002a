"""The nearest of sorted centroids for each of many values, from a table over leading bits and a binary search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import CACHED_CHUNK, slices

Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_FEW_VALUES = 2**14  # so few are searched for without a table
_DROPPED_BITS = 14
_HALF = 1 << (31 - _DROPPED_BITS)


def assign_labels(values: Floats, centroids: Floats) -> Labels:
    """Index of the centroid closest to each value, uint8 or uint16, shape (n,); of two equally close the lower one.

    Args:
        values: shape (n,), float32 or float64; finite.
        centroids: shape (k,), float32 or float64, 1 to 65,536 of them, ascending, distinct.
    """
    bounds = _bounds(centroids, values.dtype)
    count = len(values)
    labels: Labels = np.empty(count, np.uint8) if len(centroids) <= 256 else np.empty(count, np.uint16)
    table = _Table.of(bounds.view(np.float32)) if values.dtype == np.float32 and count > _FEW_VALUES else None
    for part in slices(count, CACHED_CHUNK):
        if table is None:
            labels[part] = np.searchsorted(bounds, values[part], side="left")
        else:
            labels[part] = table.labels(values[part].view(np.float32))
    return labels


def find_used(labels: Labels, count: int) -> npt.NDArray[np.bool_]:
    """Whether each of the labels 0 to ``count`` - 1 occurs in ``labels``, shape (n,): bool, shape (count,)."""
    found = np.zeros(count, np.bool_)
    for part in slices(len(labels), CACHED_CHUNK):
        found[labels[part]] = True
    return found


def _bounds(centroids: Floats, dtype: np.dtype[np.floating]) -> Floats:
    """For each centroid but the last, the largest value of ``dtype`` not above the midpoint to the next centroid."""
    wide = centroids.astype(np.float64)
    midpoints = wide[:-1] / 2 + wide[1:] / 2
    bounds = midpoints.astype(dtype)  # comparing in the type of the values saves a wider copy of them
    below: Floats = np.where(bounds > midpoints, np.nextafter(bounds, dtype.type(-np.inf)), bounds)
    return below + dtype.type(0)  # turns -0.0 into 0.0


def _cells(values: npt.NDArray[np.float32]) -> npt.NDArray[np.intp]:
    """The cell of each value, shape (n,): an integer from its leading bits that rises with the value."""
    bits = np.ascontiguousarray(values).view(np.int32)
    cells: npt.NDArray[np.intp] = ((bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))) >> np.int32(_DROPPED_BITS)).astype(
        np.intp
    )
    cells += _HALF
    return cells


@dataclass(frozen=True, eq=False)
class _Table:
    """The labels of whole cells.

    Attributes:
        bounds: between neighbouring centroids, ascending.
        before: how many bounds are in the cells before each cell.
        unsure: whether some bounds are in the cell itself, so that its values have to be searched for.
    """

    bounds: npt.NDArray[np.float32]
    before: npt.NDArray[np.uint16]
    unsure: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bounds: npt.NDArray[np.float32]) -> _Table:
        cells = _cells(bounds)
        widths = np.diff(cells, prepend=-1, append=2 * _HALF - 1)
        unsure = np.zeros(2 * _HALF, np.bool_)
        unsure[cells] = True
        return cls(bounds, np.repeat(np.arange(len(widths), dtype=np.uint16), widths), unsure)

    def labels(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
        """How many bounds are below each value."""
        cells = _cells(values)
        labels = self.before.take(cells)
        unsure = np.flatnonzero(self.unsure.take(cells))
        labels[unsure] = np.searchsorted(self.bounds, values[unsure], side="left")
        return labels
