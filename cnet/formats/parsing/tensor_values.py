"""Checks of the values of a tensor, and statistics of them. Both work in chunks, with little memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks
from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Tensor

NumberT = TypeVar("NumberT", int, float)
_WITHOUT_ORDER = ("bool", "complex64", "complex128")


@dataclass(frozen=True)
class ValueStatistics:
    """Statistics of one tensor; None where one is not a finite number, or the values are not real numbers.

    Attributes:
        min, max: smallest and largest value; integers for integer types.
        mean, std: mean and population standard deviation, both computed in float64.
        zeros: number of values that are exactly zero, of either sign.
    """

    min: float | int | None
    max: float | int | None
    mean: float | None
    std: float | None
    zeros: int


def value_chunks(tensor: Tensor) -> Iterator[npt.NDArray[np.generic]]:
    """The values in chunks of shape (n,), in C order, in element types that NumPy computes with."""
    return (dtypes.widen(chunk, tensor.dtype) for chunk in chunks(tensor.data))


def check_booleans(tensor: Tensor) -> None:
    """Refuse booleans other than 0 and 1. Raises CheckpointError (``corrupt``)."""
    if tensor.dtype == "bool" and tensor.size and int(tensor.data.reshape(-1).view(np.uint8).max()) > 1:
        raise damaged(f"tensor {quoted(tensor.name)}", "it has booleans that are neither 0 nor 1")


def check_finite(tensor: Tensor) -> None:
    """Refuse a tensor to be compressed that has NaN or infinity. Raises CheckpointError (``not_finite``)."""
    count = sum(chunk.size - int(np.count_nonzero(np.isfinite(chunk))) for chunk in value_chunks(tensor))
    if count:
        raise CheckpointError(
            f"tensor {quoted(tensor.name)}: {count} of its {tensor.size} values are NaN or infinite, so it cannot be "
            "compressed. Save the checkpoint from before the training diverged.",
            code="not_finite",
        )


def value_statistics(tensor: Tensor) -> ValueStatistics:
    """Statistics of the values of a tensor. Sums are in float64."""
    zeros = tensor.size - sum(int(np.count_nonzero(chunk)) for chunk in value_chunks(tensor))
    if not tensor.size or tensor.dtype in _WITHOUT_ORDER:
        return ValueStatistics(None, None, None, None, zeros)
    lows, highs = zip(*((chunk.min(), chunk.max()) for chunk in value_chunks(tensor)), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _total([_sum(chunk) for chunk in value_chunks(tensor)]) / tensor.size
        squares = sum(_sum_of_squares(chunk, mean) for chunk in value_chunks(tensor))
    std = math.sqrt(squares / tensor.size)
    return ValueStatistics(_finite(min(lows).item()), _finite(max(highs).item()), _finite(mean), _finite(std), zeros)


def _total(sums: list[float]) -> float:
    """The exact sum of numbers, NaN where there is none: a sum is infinite, or beyond the range of float64."""
    try:
        return math.fsum(sums)
    except (OverflowError, ValueError):
        return math.nan


def _sum(values: npt.NDArray[np.generic]) -> float:
    return float(values.sum(dtype=np.float64))


def _sum_of_squares(values: npt.NDArray[np.generic], mean: float) -> float:
    centred = values.astype(np.float64) - mean
    return float(np.dot(centred, centred))


def _finite(value: NumberT) -> NumberT | None:
    return value if math.isfinite(value) else None
