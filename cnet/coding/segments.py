"""How a network is divided for coding: tensors into blocks of rows, and blocks into segments.

A tensor is looked at as rows x columns x kernel positions: output channels, input channels, and the entries of a
convolution's kernel. A segment is the unit of coding: some blocks that follow each other in w_net.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

SEGMENT_WEIGHTS = 2**21
"""Weights of a segment, about: a larger tensor is divided between rows."""

_MAX_KERNEL = 128
_ROW_NEIGHBOURHOOD = 16
_MIN_SLICE = 4
_NEAR_INFLUENCE = (0, 10, 6)  # of kernel positions at Manhattan distance 0, 1 and 2
_FAR_INFLUENCE = 4

ItemT = TypeVar("ItemT", bound=np.generic)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows of one tensor, or all of them.

    Attributes:
        start: index of its first weight in w_net.
        sides: rows (output channels), columns (input channels), kernel positions; their product is its size.
        kernel: shape of the kernel; its product is ``sides[2]``.
        tensor: number of the tensor.
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
    def stop(self) -> int:
        """Index of the weight after its last one in w_net."""
        return self.start + self.size

    def has_offsets(self, axis: int) -> bool:
        """Whether slices along ``axis`` (0: rows, 1: columns, 2: positions) are worth a level offset each."""
        side = self.sides[axis]
        return side > 1 and self.size // side >= _MIN_SLICE

    @property
    def neighbourhood(self) -> tuple[int, ...]:
        """Shape of the weights that tell of each other: the kernel, or some columns in a row where that is 1 x 1."""
        return self.kernel if self.sides[2] > 1 else (_ROW_NEIGHBOURHOOD,)

    @property
    def positions(self) -> int:
        """Weights of a neighbourhood."""
        return math.prod(self.neighbourhood)

    @cached_property
    def influence(self) -> npt.NDArray[np.int64]:
        """How much position b counts for a later position a of a neighbourhood: int64, shape (positions, positions)."""
        places = np.indices(self.neighbourhood).reshape(len(self.neighbourhood), -1)
        distance = np.abs(places[:, :, None] - places[:, None, :]).sum(axis=0)
        near = np.take(_NEAR_INFLUENCE, np.minimum(distance, len(_NEAR_INFLUENCE) - 1))
        return np.tril(np.where(distance < len(_NEAR_INFLUENCE), near, _FAR_INFLUENCE), -1).astype(np.int64)


@dataclass(frozen=True)
class Segment:
    """The unit of coding.

    Attributes:
        blocks: at least one, following each other in w_net.
    """

    blocks: tuple[RowBlock, ...]

    @property
    def place(self) -> slice:
        """Which part of w_net it is."""
        return slice(self.blocks[0].start, self.blocks[-1].stop)

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.blocks[-1].stop - self.blocks[0].start

    def place_of(self, index: int) -> slice:
        """Which part of the segment's weights the block number ``index`` is."""
        start = self.blocks[index].start - self.blocks[0].start
        return slice(start, start + self.blocks[index].size)

    def split(self, flat: npt.NDArray[ItemT]) -> list[npt.NDArray[ItemT]]:
        """Views of an array with an entry a weight, shape (size,): one for each block."""
        return [flat[self.place_of(index)] for index in range(len(self.blocks))]


def segments_of(shapes: Sequence[tuple[int, ...]], weights: int = SEGMENT_WEIGHTS) -> list[Segment]:
    """All segments of a network, in the order of w_net.

    Args:
        shapes: of the compressible tensors, in the order of w_net.
        weights: about as many are in a segment at most; a row is never divided.
    """
    grouped: list[list[RowBlock]] = []
    room = 0
    for block in _blocks_of(shapes, weights):
        if block.size > room:
            grouped.append([])
            room = weights
        grouped[-1].append(block)
        room -= block.size
    return [Segment(tuple(blocks)) for blocks in grouped]


def _blocks_of(shapes: Sequence[tuple[int, ...]], weights: int) -> list[RowBlock]:
    blocks, start = [], 0
    for tensor, shape in enumerate(shapes):
        rows, columns, kernel = _sides(shape)
        width = columns * math.prod(kernel)
        if rows * width == 0:
            continue
        step = max(1, weights // width)
        for first in range(0, rows, step):
            count = min(step, rows - first)
            blocks.append(RowBlock(start + first * width, (count, columns, math.prod(kernel)), kernel, tensor))
        start += rows * width
    return blocks


def _sides(shape: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Rows, columns and kernel of a tensor. A vector is one row; entries of a very large kernel count as columns."""
    if len(shape) < 2:
        return 1, math.prod(shape), (1,)
    kernel = shape[2:] or (1,)
    if math.prod(kernel) > _MAX_KERNEL:
        return shape[0], math.prod(shape[1:]), (1,)
    return shape[0], shape[1], kernel
