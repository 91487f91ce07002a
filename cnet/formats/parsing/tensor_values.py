"""Checks of the values of a tensor, and statistics of them. Both work in chunks, with little memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks
from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Tensor


@dataclass(frozen=True)
class ValueStatistics:
    """Statistics of one tensor; None where there are none (an empty tensor, or values that are not real numbers).

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


def check_values(tensor: Tensor) -> None:
    """Refuse a tensor whose values cannot be weights.

    Raises:
        CheckpointError: ``not_finite`` for NaN or infinity in a floating-point tensor; ``corrupt`` for bytes other
            than 0 and 1 in a boolean one.
    """
    if tensor.dtype == "bool" and tensor.size and int(tensor.data.reshape(-1).view(np.uint8).max()) > 1:
        raise damaged(f"tensor {quoted(tensor.name)}", "it has booleans that are neither 0 nor 1")
    if not dtypes.by_name(tensor.dtype).floating:
        return
    count = sum(chunk.size - int(np.count_nonzero(np.isfinite(chunk))) for chunk in value_chunks(tensor))
    if count:
        raise CheckpointError(
            f"tensor {quoted(tensor.name)}: {count} of its {tensor.size} values are NaN or infinite. "
            "Save the checkpoint from before the training diverged.",
            code="not_finite",
        )


def value_statistics(tensor: Tensor) -> ValueStatistics:
    """Statistics of the values of a tensor. Sums are in float64."""
    zeros = tensor.size - sum(int(np.count_nonzero(chunk)) for chunk in value_chunks(tensor))
    if not tensor.size or tensor.dtype in ("bool", "complex64"):
        return ValueStatistics(None, None, None, None, zeros)
    lows, highs = zip(*((chunk.min(), chunk.max()) for chunk in value_chunks(tensor)), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = math.fsum(_sum(chunk) for chunk in value_chunks(tensor)) / tensor.size
        squares = sum(_sum_of_squares(chunk, mean) for chunk in value_chunks(tensor))
    return ValueStatistics(
        min(lows).item(), max(highs).item(), _finite(mean), _finite(math.sqrt(squares / tensor.size)), zeros
    )


def _sum(values: npt.NDArray[np.generic]) -> float:
    return float(values.sum(dtype=np.float64))


def _sum_of_squares(values: npt.NDArray[np.generic], mean: float) -> float:
    centred = values.astype(np.float64) - mean
    return float(np.dot(centred, centred))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
