"""How segments of large nets were stored until version 0.1: zeros eight at a time, level after level. Only read.

Weights of one level form few rectangles once rows and columns are sorted by their offsets (``_board``). The mask of one
level of one piece, rectangle after rectangle, is packed into bytes, which are the symbols; magnitudes are those of a
walk of one step (``_walk``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.board import Board
from cnet.coding.compact.layout import Piece
from cnet.coding.compact.levels import LEVELS, Levels, code_levels
from cnet.coding.compact.segment import code_signs
from cnet.coding.compact.walk import Scene, Walk
from cnet.coding.primitives.adaptive import Ints, Model, Reader

Bools = npt.NDArray[np.bool_]

_MOST_BITS = 17
_BYTE = 256
_ONE = np.ones(LEVELS, np.int64)


def read(pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Bools, Ints]:
    """Mask of a segment, and the numbers of the kept weights. Raises ValueError where the bytes are something else."""
    readers = Reader(mask), Reader(labels)
    levels = code_levels(readers[0], pieces, None)
    keep = _mask(readers[0], pieces, levels)
    field = np.concatenate([level.field() for level in levels])[np.flatnonzero(keep)]
    magnitudes = _magnitudes(readers[1], field)
    negative = code_signs(readers[1], magnitudes, None)
    for reader in readers:
        reader.finish()
    return keep, np.where(negative, -magnitudes, magnitudes)


def _mask(reader: Reader, pieces: Sequence[Piece], levels: Sequence[Levels]) -> Bools:
    if reader.raw(None, 1, 1)[0]:
        return np.ones(sum(piece.size for piece in pieces), np.bool_)
    models = [Model(_BYTE, first=1, quick=True) for _ in range(LEVELS)]
    boards = [Board.of(piece, level) for piece, level in zip(pieces, levels, strict=True)]
    return np.concatenate([board.restored(_cells(reader, models, board)) for board in boards])


def _cells(reader: Reader, models: Sequence[Model], board: Board) -> Bools:
    found, boxes = np.empty(board.piece.sides, np.bool_), board.boxes()
    for level in np.unique(boxes.levels).tolist():
        own = boxes.levels == level
        sizes = boxes.sizes[own].tolist()
        packed = reader.code(models[level], None, -(-sum(sizes) // 8)).astype(np.uint8)
        flat, start = np.unpackbits(packed, count=sum(sizes)).view(np.bool_), 0
        for (top, bottom, left, right), size in zip(boxes.edges[own].tolist(), sizes, strict=True):
            found[top:bottom, left:right] = flat[start : start + size].reshape(bottom - top, right - left, -1)
            start += size
    return found


def _magnitudes(reader: Reader, field: npt.NDArray[np.uint8]) -> Ints:
    largest = max(int(reader.raw(None, _MOST_BITS, 1)[0]), 1)
    scene = Scene(largest, dense=True, memory=0, expected=_ONE)
    return Walk(scene, reader, reader, quick=True).code(field, None)
