"""Labels as signed magnitudes, and centroids as bytes.

A label counts from zero outwards: the k-th smallest positive centroid is k, the k-th largest negative one -k. Where the
centroids are multiples of one step they are stored as that step and the multiples, and labels that are a path through
a trellis are stored as its steps (``cnet.coding.trellis``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.arrays import slices
from cnet.coding.compact.segment import MOST
from cnet.coding.primitives.byte_planes import pack, unpack
from cnet.coding.primitives.varint import put, take

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_PLAIN, _GRID = 0, 1
_REACHES = (64.0, 4096.0, np.inf)


@dataclass(frozen=True, eq=False)
class Grid:
    """Centroids that are float(step * multiples), both of the centroids' type."""

    step: np.floating
    multiples: npt.NDArray[np.int64]

    def centroids(self) -> Floats:
        """The centroids; float32 steps are multiplied in float32, and so on every machine the same."""
        with np.errstate(over="ignore", invalid="ignore"):  # only a forged step; who unpacks looks at the result
            centroids: Floats = self.multiples.astype(self.step.dtype) * self.step
        return centroids


def grid_of(centroids: Floats) -> Grid | None:
    """The grid that distinct finite centroids lie on, bit for bit, or None.

    The step is the smallest distance of two of them, or of one from 0, made exact by the multiples that it gives; or
    half of that, of which some grids have odd multiples alone.
    """
    if not len(centroids) or np.any(centroids == 0):
        return None
    with np.errstate(all="ignore"):  # what overflows is no grid, and is found out below
        wide = centroids.astype(np.float64)
        for least in (_least_distance(wide), _least_distance(wide) / 2):
            near = centroids.dtype.type(_fitted(wide, least))
            for step in (near, np.nextafter(near, near * 2), np.nextafter(near, near / 2)):
                multiples = np.rint(wide / step)
                if step > 0 and np.all(np.abs(multiples) < MOST):
                    grid = Grid(step, multiples.astype(np.int64))
                    if np.array_equal(grid.centroids(), centroids):
                        return grid
    return None


def _least_distance(centroids: npt.NDArray[np.float64]) -> float:
    return min(float(np.min(np.abs(centroids))), float(np.min(np.diff(centroids), initial=np.inf)))


def _fitted(centroids: npt.NDArray[np.float64], step: float) -> float:
    """The step of least squared error, near a first guess."""
    largest = float(np.max(np.abs(centroids)))
    for reach in _REACHES:  # multiples of few steps are certain; each round makes those of more steps so
        within = np.abs(centroids) <= min(largest, reach * step)
        multiples = np.rint(centroids[within] / step)
        weight = float(np.sum(multiples * multiples))
        if weight > 0 and np.isfinite(weight):
            step = float(np.sum(centroids[within] / step * multiples)) / weight * step
    return step


def pack_centroids(centroids: Floats) -> bytes:
    """Centroids, their number and their type, in the shorter of two forms."""
    wide = int(centroids.dtype == np.float64) << 1
    plain = bytes([_PLAIN | wide]) + put(len(centroids)) + pack(centroids)
    grid = grid_of(centroids)
    return plain if grid is None else min(plain, bytes([_GRID | wide]) + _pack_grid(grid), key=len)


def _pack_grid(grid: Grid) -> bytes:
    first = int(grid.multiples[0])
    used = np.zeros(int(grid.multiples[-1]) - first + 1, np.uint8)
    used[grid.multiples - first] = 1
    return np.array([grid.step]).tobytes() + put(first + MOST) + put(len(used)) + np.packbits(used).tobytes()


def unpack_centroids(content: memoryview, most: int) -> Floats:
    """The centroids: at most ``most``, finite. Raises ValueError."""
    if not len(content) or content[0] > 3:
        raise ValueError("centroids of an unknown kind")
    dtype = np.dtype(np.float64 if content[0] >> 1 else np.float32)
    if content[0] & 1 == _GRID:
        centroids = _unpack_grid(content[1:], dtype)
    else:
        count, rest = take(content[1:])
        if count > most:
            raise ValueError("more centroids than weights")
        numbers = unpack(rest, count, dtype)
        centroids = numbers.view(np.float64) if dtype.itemsize == 8 else numbers.view(np.float32)
    if len(centroids) > most or not np.all(np.isfinite(centroids)):
        raise ValueError("more centroids than weights, or some that are no numbers")
    return centroids


def _unpack_grid(content: memoryview, dtype: np.dtype[Any]) -> Floats:
    if len(content) < dtype.itemsize:
        raise ValueError("the centroids' grid is cut")
    step = np.frombuffer(content[: dtype.itemsize], dtype)[0]
    first, rest = take(content[dtype.itemsize :])
    span, rest = take(rest)
    if span > 2 * MOST or len(rest) != -(-span // 8):
        raise ValueError("the centroids' grid is impossible")
    used = np.unpackbits(np.frombuffer(rest, np.uint8), count=span)
    return Grid(step, np.flatnonzero(used).astype(np.int64) + (first - MOST)).centroids()


def signed(centroids: Floats) -> npt.NDArray[np.int32]:
    """The signed magnitude of each centroid's label, none 0."""
    below = int(np.count_nonzero(centroids < 0))
    return np.concatenate([np.arange(-below, 0), np.arange(1, len(centroids) - below + 1)]).astype(np.int32)


def labels_of(numbers: Ints, table: Ints) -> Labels:
    """The place of each number in an ascending table, uint8 or uint16. Raises ValueError where one is not there."""
    if not len(numbers):
        return typed(np.empty(0, np.int32), len(table))
    if not len(table):
        raise ValueError("there are no centroids")
    low = int(table[0])
    places = np.full(int(table[-1]) - low + 1, -1, np.int32)
    places[table - low] = np.arange(len(table))
    if int(numbers.min()) < low or int(numbers.max()) > int(table[-1]):
        raise ValueError("a label has no centroid")
    labels = places[numbers - low]
    if int(labels.min()) < 0:
        raise ValueError("a label has no centroid")
    return typed(labels, len(table))


def numbered(numbers: npt.NDArray[np.signedinteger]) -> tuple[Labels, npt.NDArray[np.int64]]:
    """Labels for whole numbers of a narrow range, and the distinct ones of these in ascending order.

    The same as ``numpy.unique`` with its inverse, in one look at each number instead of a sort.
    """
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    used = np.zeros(high - low + 1, np.bool_)
    for part in slices(len(numbers)):
        used[numbers[part].astype(np.int64) - low] = True
    distinct = np.flatnonzero(used)
    places = typed(np.cumsum(used) - 1, len(distinct))
    labels = np.empty(len(numbers), places.dtype)
    for part in slices(len(numbers)):
        labels[part] = places[numbers[part].astype(np.int64) - low]
    return labels, distinct.astype(np.int64) + low


def typed(labels: npt.NDArray[np.integer], clusters: int) -> Labels:
    """Labels as uint8 or, beyond 256 clusters, uint16."""
    return labels.astype(np.uint8) if clusters <= 256 else labels.astype(np.uint16)
