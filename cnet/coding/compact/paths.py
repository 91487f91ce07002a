"""Turning grid multiples of a segment into steps of a trellis, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.compact.lanes import from_lanes, to_lanes
from cnet.coding.compact.layout import Piece

Ints = npt.NDArray[np.int32]


def memory_of(pieces: Sequence[Piece], magnitudes: Ints) -> int:
    """Bits of the state of the trellis that the multiples' magnitudes are a path through, or 0."""
    return next((memory for memory in trellis.MEMORIES if steps_of(pieces, magnitudes, memory) is not None), 0)


def steps_of(pieces: Sequence[Piece], magnitudes: Ints, memory: int) -> Ints | None:
    """Magnitudes of k for those of the multiples, flat, or None where they are no path."""
    return _by_piece(pieces, magnitudes, lambda lanes: trellis.follows(lanes, memory))


def multiples_of(pieces: Sequence[Piece], magnitudes: Ints, memory: int) -> Ints:
    """Magnitudes of the multiples for those of k, flat."""
    found = _by_piece(pieces, magnitudes, lambda lanes: trellis.expanded(lanes, memory))
    return magnitudes if found is None else found


def _by_piece(pieces: Sequence[Piece], flat: Ints, change: Callable[[Ints], Ints | None]) -> Ints | None:
    parts = [np.empty(0, np.int32)]
    for piece in pieces:
        start = piece.start - pieces[0].start
        length = trellis.lane_length(piece.positions)
        lanes = to_lanes([flat[start : start + piece.size]], length).astype(np.int32, copy=False)
        changed = change(lanes)
        if changed is None:
            return None
        parts += [part.astype(np.int32, copy=False) for part in from_lanes(changed, [piece.size])]
    return np.concatenate(parts)


def common_memory(parts: Iterable[tuple[Sequence[Piece], Ints]]) -> int:
    """The memory of the trellis that the numbers of all segments are paths through, or 0."""
    memory = 0
    for pieces, numbers in parts:
        magnitudes = np.abs(numbers)
        memory = memory or memory_of(pieces, magnitudes)
        if memory == 0 or steps_of(pieces, magnitudes, memory) is None:
            return 0
    return memory
