"""Factors of the rows of a tensor whose outputs have units of their own, such as a price and a probability.

With one step size for the whole tensor, rows of small units would be lost in the noise of those of large ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

DIFFERENT = 8.0
"""Largest root mean square of a row relative to the smallest, from which on rows have units of their own. It is at most
1.7 in the last tensors of common classifiers, detectors and recognizers of text."""

FEW_ROWS = 16
"""Rows of a matrix up to which it may be one of several output layers, and its factors cost next to nothing."""

_LEAST_WEIGHTS = 8  # of a row on average: fewer say little about its scale, and a factor costs as much as some of them
_NORMAL = 2.0**20  # root mean square in smallest normal numbers from which on all products of factors are normal
_MANTISSA_BITS = 8  # of a stored unit or factor


def may_differ(shape: tuple[int, ...], *, last: bool) -> bool:
    """Whether rows of a tensor may get factors: those of the last tensor, and of matrices of few rows.

    Kernels of convolutions before the last tensor do not: a normalization mostly follows them, and channels that it
    has nearly switched off must not cost bytes.
    """
    return len(shape) > 1 and (last or (len(shape) == 2 and shape[0] <= FEW_ROWS))


def few_bits(factors: npt.ArrayLike, rounded: Callable[[Doubles], Doubles] = np.rint) -> Doubles:
    """Factors with as many bits of mantissa as a bundle should hold.

    Args:
        factors: of any shape, which the result has too.
        rounded: gives the integers for fractions, float64, of the same shape.
    """
    mantissa, exponent = np.frexp(np.asarray(factors, np.float64))
    few: Doubles = np.ldexp(rounded(mantissa * 2**_MANTISSA_BITS), exponent - _MANTISSA_BITS)
    return few


class RowMoments:
    """The largest magnitude and the sum of squares of each row, from weights part by part."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Start without weights.

        Args:
            shape: of the tensor, of two axes or more, without zeros.
        """
        self._width = int(np.prod(shape[1:]))
        self._largest = np.zeros(shape[0])
        self._power = np.zeros(shape[0])  # relative to the square of the largest, which cannot overflow
        self._count = np.zeros(shape[0], np.int64)

    def add(self, indexes: Longs, values: npt.NDArray[np.floating]) -> None:
        """Count some more weights.

        Args:
            indexes: their places in the tensor, flat, ascending, shape (n,).
            values: the weights, finite, shape (n,).
        """
        if not len(values):
            return
        rows = indexes // self._width
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        found = rows[starts]
        magnitudes = np.abs(values.astype(np.float64))
        before = self._largest[found]
        largest = np.maximum(before, np.maximum.reduceat(magnitudes, starts))
        divisor = np.where(largest > 0, largest, 1.0)
        self._largest[found] = largest
        self._power[found] *= (before / divisor) ** 2
        self._power[found] += np.add.reduceat((magnitudes / np.repeat(divisor, _lengths(starts, rows))) ** 2, starts)
        self._count[found] += np.add.reduceat((magnitudes > 0).astype(np.int64), starts)

    def factors(self, dtype: np.dtype[np.floating]) -> tuple[float, ...]:
        """A factor for each row, in proportion to the root mean square of its weights that are not zero, at most 1.

        None where rows are about alike. A row has the factor 1 where it has only zeros, or numbers so small that
        their units could not be written in ``dtype``.
        """
        rms = self._largest * np.sqrt(self._power / np.maximum(self._count, 1))
        top = float(np.max(rms))
        used = rms > float(np.finfo(dtype).tiny) * _NORMAL * max(1.0, top)
        if not used.any() or np.mean(self._count[used]) < _LEAST_WEIGHTS or top <= DIFFERENT * np.min(rms[used]):
            return ()
        return tuple(few_bits(np.where(used, rms / top, 1.0)).tolist())

    def scaled(self, factors: tuple[float, ...]) -> tuple[float, float]:
        """Root mean square of all weights that are not zero, and the largest, divided by the factors of their rows."""
        largest = self._largest / np.array(factors)
        top = float(np.max(largest))
        return top * float(np.sqrt(np.sum(self._power * (largest / top) ** 2) / np.sum(self._count))), top


def _lengths(starts: Longs, rows: Longs) -> Longs:
    """How many weights each of the rows that begin at ``starts`` has."""
    lengths: Longs = np.diff(starts, append=len(rows))
    return lengths


def row_factors_at(factors: tuple[float, ...], shape: tuple[int, ...], indexes: Longs) -> Doubles:
    """The factors of the rows that some places of a tensor, flat, shape (n,), are in: shape (n,)."""
    rows = indexes // int(np.prod(shape[1:]))
    taken: Doubles = np.array(factors)[rows]
    return taken
