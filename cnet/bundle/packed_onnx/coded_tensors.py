"""The compressible tensors of a bundle as codes: for each weight an index into the few values that its tensor has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.coding.uniform_grid import find_grid
from cnet.reconstruction import AxisScales, Dither, Scales
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Grid:
    """Values that are integer multiples of a step size: ``step * (code + least)``.

    Attributes:
        codes: int64, shape (weights,), from 0.
        least: the multiple that the code 0 stands for.
        step: the step size, float32 or float64.
    """

    codes: npt.NDArray[np.int64]
    least: int
    step: np.floating


@dataclass(frozen=True, eq=False)
class CodedTensor:
    """A tensor of few distinct values.

    Each weight is ``values[code]``, times the product of its factors where there are some, all in the type of
    ``values``, rounded to ``dtype``.

    Attributes:
        dtype: name of the element type.
        shape: its shape.
        codes: int64, shape (weights,).
        values: float32 or float64, shape (values,).
        grid: the same on a uniform grid, or None where the values lie on none.
        factors: arrays that are multiplied from first to last, of shapes (1, ...), (rows, 1, ...) or
            (1, columns, 1, ...); none: weights are their values.
    """

    dtype: str
    shape: tuple[int, ...]
    codes: npt.NDArray[np.int64]
    values: Floats
    grid: Grid | None
    factors: tuple[Floats, ...]


class CodedTensors:
    """Codes of each tensor of a bundle.

    Args:
        symbols: those of the bundle.
    """

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._kept_before = np.concatenate([[0], np.cumsum(symbols.keep, dtype=np.int64)])
        centroids = symbols.centroids
        zero = np.zeros(1, centroids.dtype)
        self._values: Floats = np.concatenate([zero, centroids])  # the first is that of pruned weights

    def of(self, part: slice, dtype: str, shape: tuple[int, ...]) -> CodedTensor | None:
        """The codes of a tensor, or None where its values are not few: no quantizer, or a dither.

        Args:
            part: its part of w_net.
            dtype: name of its element type.
            shape: its shape.
        """
        symbols = self._symbols
        if symbols.labels is None or isinstance(symbols.reconstruction, Dither) or not math.prod(shape):
            return None
        kept = slice(int(self._kept_before[part.start]), int(self._kept_before[part.stop]))
        indexes = np.zeros(part.stop - part.start, np.int64)
        indexes[symbols.keep[part]] = symbols.labels[kept].astype(np.int64) + 1
        used, codes = np.unique(indexes, return_inverse=True)
        return CodedTensor(
            dtype, shape, codes.reshape(-1), self._values[used], self._grid(indexes), self._factors(part, shape)
        )

    @cached_property
    def _multiples(self) -> tuple[npt.NDArray[np.int64], np.floating] | None:
        """Multiples of the values, and their step size."""
        grid = find_grid(self._symbols.centroids)
        return None if grid is None else (np.concatenate([np.zeros(1, np.int64), grid.multiples]), grid.step)

    def _grid(self, indexes: npt.NDArray[np.int64]) -> Grid | None:
        if self._multiples is None:
            return None
        multiples = self._multiples[0][indexes]
        least = int(multiples.min())
        return Grid(multiples - least, least, self._multiples[1])

    def _factors(self, part: slice, shape: tuple[int, ...]) -> tuple[Floats, ...]:
        scales = self._symbols.reconstruction
        inner = [1] * (len(shape) - 1)
        if isinstance(scales, AxisScales):
            rows, columns, own = scales.of_tensor(scales.number_at(part.start))
            if len(shape) < 2:
                return (own.reshape([1] * len(shape)),)
            return rows.reshape(-1, *inner), columns.reshape(1, -1, *inner[1:]), own.reshape(1, *inner)
        if not isinstance(scales, Scales):
            return ()
        ends = np.cumsum(scales.sizes)
        first, last = np.searchsorted(ends, [part.start, part.stop - 1], side="right")
        factors = scales.factors[first : last + 1]
        return (factors.reshape(-1, *inner) if shape else factors.reshape(()),)


def final_values(coded: CodedTensor) -> npt.NDArray[np.generic] | None:
    """The values with a common factor applied and rounded to the tensor's type; None where factors differ.

    They are of the storage type of the element type, shape (values,).
    """
    if any(factor.size > 1 for factor in coded.factors):
        return None
    values = coded.values
    if coded.factors:
        first, *others = (factor.reshape(-1)[0] for factor in coded.factors)
        values = values * math.prod(others, start=first)
    return dtypes.narrow(values, coded.dtype)
