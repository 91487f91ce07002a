"""Statistics of the values of a tensor, all computed in one pass: reading large files again and again takes long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays.chunking import CACHED_CHUNK, chunks

NumberT = TypeVar("NumberT", int, float)
_COMPLEX = ("complex64", "complex128")
_LARGEST_ROOT = 1e150  # whose square float64 can hold


@dataclass(frozen=True)
class TensorStatistics:
    """Statistics of one tensor. Those of ordered numbers are None where the tensor is empty, boolean or complex.

    Attributes:
        min, max: smallest and largest value, integers for integer types; None where it is not finite.
        mean, std: mean and population standard deviation, computed in float64; None where one is not finite.
        zeros: number of values that are exactly zero, of either sign.
        nan, infinite: number of values that are no number, and that are infinite.
        lowest: number of values that are the lowest finite number of a floating-point type.
        root_mean_square: of all values, where those that are not finite count as zero; at most 1e150.
    """

    min: float | int | None = None
    max: float | int | None = None
    mean: float | None = None
    std: float | None = None
    zeros: int = 0
    nan: int = 0
    infinite: int = 0
    lowest: int = 0
    root_mean_square: float = 0.0


def tensor_statistics(data: npt.NDArray[np.generic], dtype: str) -> TensorStatistics:
    """The statistics of a tensor.

    Args:
        data: its values, of any shape, in the storage type of ``dtype``. A mapped file is released on the way.
        dtype: name of its element type.
    """
    if dtype == "bool" or dtype in _COMPLEX:
        return TensorStatistics(zeros=data.size - sum(int(np.count_nonzero(chunk)) for chunk in chunks(data)))
    lowest = lowest_number(dtype) if dtypes.by_name(dtype).floating else None
    blocks = [_Block.of(dtypes.widen(chunk, dtype), lowest) for chunk in chunks(data, CACHED_CHUNK)]
    if not blocks:
        return TensorStatistics()
    nan = sum(one.nan for one in blocks)
    mean = _total([one.sum for one in blocks]) / data.size
    squares = sum(one.deviations + one.count * (one.mean - mean) * (one.mean - mean) for one in blocks)
    energy = min(sum(one.energy for one in blocks), _LARGEST_ROOT**2)
    return TensorStatistics(
        min=None if nan else _finite(min(one.min for one in blocks)),
        max=None if nan else _finite(max(one.max for one in blocks)),
        mean=_finite(mean),
        std=math.sqrt(squares / data.size) if math.isfinite(squares) else None,
        zeros=sum(one.zeros for one in blocks),
        nan=nan,
        infinite=sum(one.infinite for one in blocks),
        lowest=sum(one.lowest for one in blocks),
        root_mean_square=math.sqrt(energy / data.size),
    )


def lowest_number(dtype: str) -> float:
    """The lowest finite number of a floating-point element type."""
    if dtype == "bfloat16":
        return -float.fromhex("0x1.fep127")
    if dtype.startswith("float8"):
        return -448.0 if dtype == "float8_e4m3fn" else -57344.0
    return float(np.finfo(dtype).min)


@dataclass(frozen=True)
class _Block:
    """Statistics of some values of a tensor.

    Attributes:
        deviations: sum of the squares of the differences from ``mean``.
        energy: sum of the squares of the finite values.
    """

    count: int
    min: float | int
    max: float | int
    sum: float
    mean: float
    deviations: float
    energy: float
    zeros: int
    nan: int
    infinite: int
    lowest: int

    @classmethod
    def of(cls, values: npt.NDArray[np.generic], lowest: float | None) -> _Block:
        """The statistics of ``values``, shape (n,), n > 0, real numbers; ``lowest``: the lowest of their type."""
        count, low, high = len(values), values.min().item(), values.max().item()
        finite = math.isfinite(low) and math.isfinite(high)
        with np.errstate(over="ignore", invalid="ignore"):
            # differences from one of the values: equal values have a deviation of exactly zero
            pivot = float(values[0])
            wide = values.astype(np.float64)
            wide -= pivot
            shift, squares = float(wide.sum()), float(np.dot(wide, wide))
        mean = pivot + shift / count
        deviations = max(squares - shift * shift / count, 0.0) if math.isfinite(squares) else squares
        energy = deviations + count * mean * mean
        return cls(
            count=count,
            min=low,
            max=high,
            sum=pivot * count + shift,
            mean=mean,
            deviations=deviations,
            energy=energy if math.isfinite(energy) else _finite_energy(values),
            zeros=int(np.count_nonzero(values == 0)),
            nan=0 if finite else int(np.count_nonzero(np.isnan(values))),
            infinite=0 if finite else int(np.count_nonzero(np.isinf(values))),
            lowest=int(np.count_nonzero(values == lowest)) if lowest is not None and not low > lowest else 0,
        )


def _finite_energy(values: npt.NDArray[np.generic]) -> float:
    """The sum of the squares of the finite values, each of at most 1e150."""
    wide = values.astype(np.float64)
    wide = np.clip(np.where(np.isfinite(wide), wide, 0), -_LARGEST_ROOT, _LARGEST_ROOT)
    return float(np.dot(wide, wide))


def _total(sums: Sequence[float]) -> float:
    """The exact sum of numbers, NaN where there is none: a sum is infinite, or beyond the range of float64."""
    try:
        return math.fsum(sums)
    except (OverflowError, ValueError):
        return math.nan


def _finite(value: NumberT) -> NumberT | None:
    return value if math.isfinite(value) else None
