"""What the values of a tensor must be, and the numbers that describe them. Works in pieces, with little memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks
from cnet.errors import CheckpointError
from cnet.formats.base import shown
from cnet.weights import Tensor


@dataclass(frozen=True)
class Statistics:
    """Numbers of one tensor; None where there is none (an empty tensor, or values that are not real numbers).

    Attributes:
        min, max: of the values; whole numbers for integers.
        mean, std: of the values, population standard deviation, both in float64.
        zeros: how many values are exactly zero, of either sign.
    """

    min: float | int | None
    max: float | int | None
    mean: float | None
    std: float | None
    zeros: int


def pieces(tensor: Tensor) -> Iterator[npt.NDArray[np.generic]]:
    """The values, flat, a piece at a time, in types that NumPy computes with."""
    return (dtypes.widen(part, tensor.dtype) for part in chunks(tensor.data))


def check_values(tensor: Tensor) -> None:
    """Refuse values that cannot be weights.

    Raises:
        CheckpointError: ``not_finite`` for NaN or infinity in a floating-point tensor; ``corrupt`` for bytes other
            than 0 and 1 in a boolean one.
    """
    if tensor.dtype == "bool" and tensor.size and int(tensor.data.reshape(-1).view(np.uint8).max()) > 1:
        raise CheckpointError(
            f"tensor {shown(tensor.name)} has booleans that are neither true nor false: the file is damaged",
            code="corrupt",
        )
    if dtypes.by_name(tensor.dtype).floating and not all(np.isfinite(piece).all() for piece in pieces(tensor)):
        raise CheckpointError(
            f"tensor {shown(tensor.name)} holds NaN or infinity: the training diverged, or the tensor is no weight; "
            "save a checkpoint with finite values",
            code="not_finite",
        )


def statistics(tensor: Tensor) -> Statistics:
    """Describe the values. Sums are in float64."""
    zeros = tensor.size - sum(int(np.count_nonzero(piece)) for piece in pieces(tensor))
    if not tensor.size or tensor.dtype in ("bool", "complex64"):
        return Statistics(None, None, None, None, zeros)
    lows, highs = zip(*((piece.min(), piece.max()) for piece in pieces(tensor)), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = math.fsum(_sum(piece) for piece in pieces(tensor)) / tensor.size
        squares = sum(_squares(piece, mean) for piece in pieces(tensor))
    return Statistics(
        min(lows).item(), max(highs).item(), _finite(mean), _finite(math.sqrt(squares / tensor.size)), zeros
    )


def _sum(piece: npt.NDArray[np.generic]) -> float:
    return float(piece.sum(dtype=np.float64))


def _squares(piece: npt.NDArray[np.generic], mean: float) -> float:
    centred = piece.astype(np.float64) - mean
    return float(np.dot(centred, centred))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
