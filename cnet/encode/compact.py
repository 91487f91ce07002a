"""The compact encoding: the symbols entropy-coded under models of where zeros lie and which labels are near them.

Streams, all uint8. ``mask`` begins with a byte that says how mask and labels are stored:

    0  plain: ``mask`` goes on with ``numpy.packbits`` of what is kept; ``labels`` are numbers of one or two bytes
    1  walked: the streams of each segment (``_segment``, ``_walk``), each after its length

``centroids`` are as in ``_values``. Without a quantizer ``labels`` begins with its own streams as above, and
``centroids`` holds the kept values (``_floats``) in the smallest type that holds all of them exactly.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.encode import _paths, _segment, _values
from cnet.encode._base import ENCODERS, Encoder, Streams
from cnet.encode._layout import SEGMENT, Piece, segments
from cnet.errors import BundleError
from cnet.symbols import Symbols

_PLAIN, _WALKED = 0, 1
_TRY_PLAIN = 2**16  # weights; in larger nets it never wins
_FEWEST_BYTES = 5  # what the streams of a segment need at least

Ints = npt.NDArray[np.int32]
Numbers = tuple[npt.NDArray[np.bool_], Ints]


@ENCODERS.register("compact")
class Compact(Encoder):
    """Mask and labels under adaptive models by layer, row, column and neighbours; exact on every machine."""

    name: Literal["compact"] = "compact"
    summary: ClassVar[str] = "Entropy-coded under models of layers, rows, columns and neighbours: the smallest file."
    source: ClassVar[str] = "Bamler, constriction (2022); Wiedemann et al., DeepCABAC (2019), for the idea of contexts"

    def encode(self, symbols: Symbols, shapes: list[tuple[int, ...]]) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and ``centroids``; the header is empty, or ``{"values": dtype}``."""
        if symbols.labels is None:
            raise BundleError("not yet")
        mask, labels = _coded(symbols, segments(shapes))
        if len(symbols.keep) <= _TRY_PLAIN:
            plain = _plain(symbols)
            if _deflated(plain) < len(mask) + len(labels):
                mask, labels = plain
        streams = {"mask": mask, "labels": labels, "centroids": _values.pack_centroids(symbols.centroids)}
        return {name: np.frombuffer(content, np.uint8) for name, content in streams.items()}, {}

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols. Raises BundleError where the streams are not what ``encode`` makes for such shapes."""
        if set(streams) != {"mask", "labels", "centroids"} or any(s.dtype != np.uint8 for s in streams.values()):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its encoder")
        mask, labels, centroids = (memoryview(streams[name]) for name in ("mask", "labels", "centroids"))
        weights = sum(math.prod(shape) for shape in shapes)
        try:
            values = _values.unpack_centroids(centroids, max(weights, 1))
            if len(mask) and mask[0] == _PLAIN:
                return _from_plain(mask[1:], labels, values, weights)
            return _from_walk(mask, labels, values, shapes)
        except (AssertionError, ValueError) as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error


def _coded(symbols: Symbols, parts: Sequence[Sequence[Piece]]) -> tuple[bytes, bytes]:
    memory, table = 0, _values.signed(symbols.centroids)
    grid = _values.grid_of(symbols.centroids)
    if grid is not None and parts:
        multiples = grid.multiples.astype(np.int32)
        memory = _common_memory(symbols, parts, multiples)
        table = multiples if memory else table
    masks, labels = [], []
    for pieces, numbers in _by_segment(symbols, parts, table):
        magnitudes = np.abs(numbers)
        if memory:
            steps = _paths.steps_of(pieces, magnitudes, memory)
            magnitudes = magnitudes if steps is None else steps
        mask, label = _segment.write(pieces, magnitudes, numbers[numbers != 0] < 0, memory)
        masks.append(mask)
        labels.append(label)
    return bytes([_WALKED]) + _values.join(masks), _values.join(labels)


def _by_segment(symbols: Symbols, parts: Sequence[Sequence[Piece]], table: Ints) -> Any:
    """Each segment with the signed numbers of its weights, 0 where pruned."""
    read = 0
    for pieces in parts:
        keep = symbols.keep[pieces[0].start : pieces[-1].start + pieces[-1].size]
        count = int(np.count_nonzero(keep))
        numbers = np.zeros(len(keep), np.int32)
        numbers[keep] = table[symbols.labels[read : read + count]]
        read += count
        yield pieces, numbers


def _common_memory(symbols: Symbols, parts: Sequence[Sequence[Piece]], multiples: Ints) -> int:
    """The trellis that all segments are a path through, or 0."""
    memory = 0
    for pieces, numbers in _by_segment(symbols, parts, multiples):
        magnitudes = np.abs(numbers)
        if memory == 0:
            memory = _paths.memory_of(pieces, magnitudes)
        if memory == 0 or _paths.steps_of(pieces, magnitudes, memory) is None:
            return 0
    return memory


def _from_walk(mask: memoryview, labels: memoryview, values: Any, shapes: list[tuple[int, ...]]) -> Symbols:
    weights = sum(math.prod(shape) for shape in shapes)
    if len(mask) == 0 or mask[0] != _WALKED or weights > SEGMENT * (len(mask) // _FEWEST_BYTES + 1):
        raise ValueError("the mask is of an unknown kind, or too short for so many weights")
    parts = segments(shapes)
    keeps, numbers = [np.empty(0, np.bool_)], [np.empty(0, np.int32)]
    memories = set()
    for pieces, zeros, rest in zip(
        parts, _values.split(mask[1:], len(parts)), _values.split(labels, len(parts)), strict=True
    ):
        magnitudes, negative, memory = _segment.read(pieces, zeros, rest)
        memories.add(memory)
        if memory:
            magnitudes = _paths.multiples_of(pieces, magnitudes, memory)
        keeps.append(magnitudes > 0)
        kept = magnitudes[keeps[-1]]
        numbers.append(np.where(negative, -kept, kept))
    table = _values.signed(values)
    if memories - {0}:
        grid = _values.grid_of(values)
        if grid is None or len(memories) > 1:
            raise ValueError("a trellis without its grid")
        table = grid.multiples.astype(np.int32)
    return Symbols(np.concatenate(keeps), _values.labels_of(np.concatenate(numbers), table), values)


def _plain(symbols: Symbols) -> tuple[bytes, bytes]:
    return bytes([_PLAIN]) + np.packbits(symbols.keep).tobytes(), symbols.labels.tobytes()


def _deflated(parts: tuple[bytes, bytes]) -> int:
    return sum(len(zlib.compress(part, 9)) for part in parts)


def _from_plain(mask: memoryview, labels: memoryview, values: Any, weights: int) -> Symbols:
    if len(mask) != -(-weights // 8):
        raise ValueError("the mask is not that of the weights")
    keep = np.unpackbits(np.frombuffer(mask, np.uint8), count=weights).astype(np.bool_)
    read = np.frombuffer(labels, np.uint8 if len(values) <= 256 else np.dtype("<u2"))
    if len(read) != np.count_nonzero(keep) or (len(read) and int(read.max()) >= len(values)):
        raise ValueError("mask, labels and centroids do not fit")
    return Symbols(keep, read.astype(np.uint8 if len(values) <= 256 else np.uint16), values)
