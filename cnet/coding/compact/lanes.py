"""Weights of a segment in parallel lanes, for procedures that take one weight of each lane at a time.

A lane is a run of w_net: one neighbourhood, or, with a trellis, as many whole ones as fit in ``trellis.LANE_WEIGHTS``.
Lanes begin anew with each block of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.segments import ItemT, Segment

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
LongInts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LaneGroup:
    """The lanes of all blocks of a segment that have neighbourhoods of one shape.

    Attributes:
        blocks: numbers of the blocks. sizes: weights of each of these blocks. levels: of the weights: uint8, shape
        (lanes, length); anything beyond a lane's end. lengths: weights of each lane: int64, shape (lanes,). influence:
        of positions on later ones: int64, shape (positions, positions). non_zero: 1 for weights that are not zero,
        where that is known beforehand, else None: uint8, shape as ``levels``.
    """

    blocks: list[int]
    sizes: list[int]
    levels: Bytes
    lengths: LongInts
    influence: LongInts
    non_zero: Bytes | None = None

    @property
    def positions(self) -> int:
        """Weights of a neighbourhood."""
        return len(self.influence)

    def gather(self, parts: Sequence[npt.NDArray[ItemT]]) -> npt.NDArray[ItemT]:
        """The group's weights of a segment as lanes.

        Args:
            parts: one array for each block of the segment, shape (weights of the block,).

        Returns:
            shape (lanes, length), padded with zeros.
        """
        return to_lanes([parts[index] for index in self.blocks], self.levels.shape[1])

    def scatter(self, lanes: npt.NDArray[ItemT], parts: list[npt.NDArray[ItemT]]) -> None:
        """The inverse of ``gather``: set the group's entries of ``parts`` from lanes, shape (lanes, length)."""
        for index, part in zip(self.blocks, from_lanes(lanes, self.sizes), strict=True):
            parts[index] = part


def lane_groups(
    segment: Segment, levels: Sequence[Bytes], *, trellis_lanes: bool, bitmaps: Mapping[int, Bytes] | None = None
) -> list[LaneGroup]:
    """The lanes of a segment, grouped by the shape of neighbourhoods.

    Args:
        segment: its blocks are divided into lanes.
        levels: of each block's weights: uint8, shape (weights,).
        trellis_lanes: whether lanes are as long as a trellis wants them.
        bitmaps: by number of the block, which of its weights are not zero, where that is known beforehand: uint8, shape
            (weights,). Such blocks have groups of their own.
    """
    known = bitmaps or {}
    grouped: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for index, block in enumerate(segment.blocks):
        grouped.setdefault((index in known, block.neighbourhood), []).append(index)
    found = []
    for (has_bitmap, _), members in grouped.items():
        first = segment.blocks[members[0]]
        length = trellis.lane_length(first.positions) if trellis_lanes else first.positions
        sizes = [segment.blocks[index].size for index in members]
        matrix = to_lanes([levels[index] for index in members], length)
        non_zero = to_lanes([known[index] for index in members], length) if has_bitmap else None
        found.append(LaneGroup(members, sizes, matrix, _lengths(sizes, length), first.influence, non_zero))
    return found


def to_lanes(parts: Sequence[npt.NDArray[ItemT]], length: int) -> npt.NDArray[ItemT]:
    """Flat arrays as rows of ``length``, each array padded with zeros to whole rows: shape (rows, length)."""
    padded = [np.pad(part, (0, -len(part) % length)) for part in parts]
    return np.concatenate(padded).reshape(-1, length)


def from_lanes(matrix: npt.NDArray[ItemT], sizes: Sequence[int]) -> list[npt.NDArray[ItemT]]:
    """The inverse of ``to_lanes``: flat arrays of ``sizes`` entries from a matrix, shape (rows, length)."""
    length, row, parts = matrix.shape[1], 0, []
    for size in sizes:
        rows = -(-size // length)
        parts.append(matrix[row : row + rows].reshape(-1)[:size])
        row += rows
    return parts


def _lengths(sizes: Sequence[int], length: int) -> LongInts:
    lengths = [np.full(-(-size // length), length, np.int64) for size in sizes]
    for size, rows in zip(sizes, lengths, strict=True):
        rows[-1] = size - length * (len(rows) - 1)
    return np.concatenate(lengths)


def steps_of(segment: Segment, multiples: Ints, memory: int) -> Ints | None:
    """The trellis steps of a segment's weights, or None where the weights follow no path through the trellis.

    Args:
        segment: of the weights.
        multiples: magnitudes in grid steps: int32, shape (weights,).
        memory: bits of the trellis' state.

    Returns:
        int32, shape (weights,).
    """
    return _by_block(segment, multiples, lambda lanes: trellis.path_steps(lanes, memory))


def multiples_of(segment: Segment, steps: Ints, memory: int) -> Ints:
    """The inverse of ``steps_of``: int32, shape (weights,), from trellis steps of the same shape."""
    found = _by_block(segment, steps, lambda lanes: trellis.path_multiples(lanes, memory))
    return steps if found is None else found


def _by_block(segment: Segment, flat: Ints, change: Callable[[Ints], Ints | None]) -> Ints | None:
    parts = [np.empty(0, np.int32)]
    for block, part in zip(segment.blocks, segment.split(flat), strict=True):
        lanes = to_lanes([part], trellis.lane_length(block.positions)).astype(np.int32, copy=False)
        changed = change(lanes)
        if changed is None:
            return None
        parts += [each.astype(np.int32, copy=False) for each in from_lanes(changed, [block.size])]
    return np.concatenate(parts)


def trellis_memory(segment: Segment, multiples: Ints) -> int:
    """Bits of the state of the smallest trellis that the weights follow, or 0.

    Args:
        segment: of the weights.
        multiples: magnitudes in grid steps: int32, shape (weights,).
    """
    return next((memory for memory in trellis.MEMORIES if steps_of(segment, multiples, memory) is not None), 0)


def common_memory(parts: Iterable[tuple[Segment, Ints]]) -> int:
    """Bits of the state of the trellis that all segments follow, or 0.

    Args:
        parts: each segment with the magnitudes of its weights in grid steps: int32, shape (weights,).
    """
    memory = 0
    for segment, multiples in parts:
        memory = memory or trellis_memory(segment, multiples)
        if memory == 0 or steps_of(segment, multiples, memory) is None:
            return 0
    return memory
