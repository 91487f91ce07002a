"""Weights of a segment arranged in lanes: pieces of w_net of equal length, for steps that take one weight of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.compact.layout import Piece

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
KindT = TypeVar("KindT", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Lanes:
    """Lanes of pieces that have the same kernel.

    Attributes:
        levels: shape (lanes, length); anything beyond a lane's end.
        lengths: weights of each lane, shape (lanes,).
        influence: of positions on later ones, shape (positions, positions).
        kept: 1 for weights that are not zero, where that is known beforehand, else None; shape as ``levels``.
    """

    levels: Bytes
    lengths: Longs
    influence: Longs
    kept: Bytes | None = None

    @property
    def positions(self) -> int:
        """Weights a neighbourhood."""
        return len(self.influence)


def lanes(
    pieces: Sequence[Piece], fields: Sequence[Bytes], *, long: bool, flags: Mapping[int, Bytes] | None = None
) -> list[tuple[list[int], Lanes]]:
    """The lanes of a segment, by neighbourhood, each with the indexes of its pieces.

    Args:
        pieces: of the segment.
        fields: their levels, flat.
        long: whether lanes are as long as the trellis wants them.
        flags: by the index of the piece, which weights are not zero where that is known; these have lanes apart.
    """
    known = flags or {}
    groups: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for index, piece in enumerate(pieces):
        groups.setdefault((index in known, piece.neighbourhood), []).append(index)
    found = []
    for (flagged, _), members in groups.items():
        positions = pieces[members[0]].positions
        length = trellis.lane_length(positions) if long else positions
        matrix = to_lanes([fields[index] for index in members], length)
        lengths = _lengths([pieces[index].size for index in members], length)
        kept = to_lanes([known[index] for index in members], length) if flagged else None
        found.append((members, Lanes(matrix, lengths, pieces[members[0]].influence, kept)))
    return found


def to_lanes(parts: Sequence[npt.NDArray[KindT]], length: int) -> npt.NDArray[KindT]:
    """Flat arrays as rows of ``length``, each array padded with zeros to whole rows."""
    padded = [np.pad(part, (0, -len(part) % length)) for part in parts]
    return np.concatenate(padded).reshape(-1, length)


def from_lanes(matrix: npt.NDArray[KindT], sizes: Sequence[int]) -> list[npt.NDArray[KindT]]:
    """The inverse of ``to_lanes``."""
    length, row, parts = matrix.shape[1], 0, []
    for size in sizes:
        rows = -(-size // length)
        parts.append(matrix[row : row + rows].reshape(-1)[:size])
        row += rows
    return parts


def _lengths(sizes: Sequence[int], length: int) -> Longs:
    whole = [np.full(-(-size // length), length, np.int64) for size in sizes]
    for size, rows in zip(sizes, whole, strict=True):
        rows[-1] = size - length * (len(rows) - 1)
    return np.concatenate(whole)
