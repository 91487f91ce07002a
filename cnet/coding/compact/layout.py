"""Where weights lie: tensors as rows x columns x kernel positions, cut into pieces, and pieces gathered in segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

SEGMENT = 2**21
"""Weights that are coded as one; a larger tensor is cut between rows into pieces of about this size."""

_LARGEST_KERNEL = 128
_COLUMNS = 16
_SMALLEST_GROUP = 4
_NEAR = (0, 10, 6)  # influence of a kernel neighbour at Manhattan distance 1 and 2; all others _FAR
_FAR = 4


@dataclass(frozen=True)
class Piece:
    """Some rows of one tensor, or all.

    Attributes:
        start: place of its first weight in w_net.
        sides: rows (output channels), columns (input channels), kernel positions; their product is its size.
        kernel: shape of the kernel; its product is ``sides[2]``.
        tensor: which of the tensors it is of.
    """

    start: int
    sides: tuple[int, int, int]
    kernel: tuple[int, ...]
    tensor: int = 0

    @property
    def size(self) -> int:
        """Number of weights."""
        return math.prod(self.sides)

    @property
    def part(self) -> slice:
        """Its place in w_net."""
        return slice(self.start, self.start + self.size)

    def levelled(self, axis: int) -> bool:
        """Whether the slices along ``axis`` are large enough to be worth a level of their own."""
        side = self.sides[axis]
        return side > 1 and self.size // side >= _SMALLEST_GROUP

    @property
    def neighbourhood(self) -> tuple[int, ...]:
        """Shape of what is walked over as one: the kernel, or where it is a point some columns in a row."""
        return self.kernel if self.sides[2] > 1 else (_COLUMNS,)

    @property
    def positions(self) -> int:
        """Weights of a neighbourhood."""
        return math.prod(self.neighbourhood)

    @cached_property
    def influence(self) -> npt.NDArray[np.int64]:
        """How much position b tells of a later position a of its neighbourhood, shape (positions, positions)."""
        places = np.indices(self.neighbourhood).reshape(len(self.neighbourhood), -1)
        distance = np.abs(places[:, :, None] - places[:, None, :]).sum(axis=0)
        weights = np.where(distance < len(_NEAR), np.take(_NEAR, np.minimum(distance, len(_NEAR) - 1)), _FAR)
        return np.tril(weights, -1).astype(np.int64)


def segments(shapes: Sequence[tuple[int, ...]], largest: int = SEGMENT) -> list[list[Piece]]:
    """All pieces of a net, in order of w_net, gathered in segments of at most about ``largest`` weights."""
    gathered: list[list[Piece]] = []
    room = 0
    for piece in _pieces(shapes, largest):
        if piece.size > room:
            gathered.append([])
            room = largest
        gathered[-1].append(piece)
        room -= piece.size
    return gathered


def cut_of(pieces: Sequence[Piece]) -> slice:
    """The place of a segment in w_net."""
    return slice(pieces[0].start, pieces[-1].part.stop)


def _pieces(shapes: Sequence[tuple[int, ...]], largest: int) -> list[Piece]:
    pieces, start = [], 0
    for tensor, shape in enumerate(shapes):
        rows, columns, kernel = _sides(shape)
        width = columns * math.prod(kernel)
        if rows * width == 0:
            continue
        step = max(1, largest // width)
        for first in range(0, rows, step):
            count = min(step, rows - first)
            pieces.append(Piece(start + first * width, (count, columns, math.prod(kernel)), kernel, tensor))
        start += rows * width
    return pieces


def _sides(shape: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Rows, columns and kernel of a tensor. A vector is one row; a kernel too large to be one is more columns."""
    if len(shape) < 2:
        return 1, math.prod(shape), (1,)
    kernel = shape[2:] or (1,)
    if math.prod(kernel) > _LARGEST_KERNEL:
        return shape[0], math.prod(shape[1:]), (1,)
    return shape[0], shape[1], kernel
