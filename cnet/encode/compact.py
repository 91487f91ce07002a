"""The compact encoding: the symbols entropy-coded under models of where zeros lie and which labels are near them.

Streams, all uint8. The first byte of ``mask`` says how mask and labels are stored:

    0  plain: ``mask`` goes on with ``numpy.packbits`` of what is kept, ``labels`` are numbers of 4 bits, 1 byte or 4
       bytes as their first byte says (0, 1, 4), both deflated (zlib); before those of 4 bits, how many are below zero
    1  walked: the streams of each segment (``_segment``), each after its length
    2  the streams of each segment (``_blocks``), each after its length; read only
    5  quick: the streams of each segment (``_quick``), each after its length; for nets of more than 2^21 weights

``centroids`` are as in ``_codebooks``. Without a quantizer there are no centroids: ``labels`` begins with its own
streams as above, after their length, and goes on with the kept values (``_floats``) in the smallest type that holds all
of them exactly; the header names it as ``values``.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.encode import _blocks, _paths, _quick, _segment, _values
from cnet.encode._base import ENCODERS, Encoder, Streams
from cnet.encode._codebooks import Codebooks
from cnet.encode._floats import pack, unpack
from cnet.encode._kept import narrowed, stored_type, widened
from cnet.encode._layout import SEGMENT, Piece, segments
from cnet.encode._others import Kind
from cnet.encode._segment import inflated
from cnet.encode._threads import mapped
from cnet.encode._varint import put, take
from cnet.errors import BundleError
from cnet.symbols import Symbols

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Shapes = list[tuple[int, ...]]

_PLAIN, _WALKED, _BLOCKS, _QUICK = 0, 1, 2, 5
_TRY_PLAIN = 2**21  # weights; in larger nets it hardly ever wins, and takes time
_WALK = 2**21
_FEWEST_BYTES = 5  # what the mask of a segment needs at least


@ENCODERS.register("compact")
class Compact(Encoder):
    """Mask and labels under adaptive models by layer, row, column and neighbours; exact on every machine."""

    name: Literal["compact"] = "compact"
    summary: ClassVar[str] = "Entropy-coded under models of layers, rows, columns and neighbours: the smallest file."
    source: ClassVar[str] = "Wiedemann et al., DeepCABAC (2019), for contexts; Bamler, constriction (2022), the coder"

    other: Literal["exact", "float16"] = Field(
        default="exact", description="Biases, batch-norm and all else that is not compressible: as it is, or rounded."
    )

    @property
    def others(self) -> Kind:
        """Packed, and rounded where asked for."""
        return "planes" if self.other == "exact" else "float16"

    def encode(self, symbols: Symbols, shapes: Shapes) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and ``centroids``; the header is empty, or ``{"values": dtype}``."""
        if symbols.labels is None:
            ones = np.broadcast_to(np.int32(1), (len(symbols.centroids),))
            mask, labels = _smallest(_Net(symbols.keep, ones), shapes)
            name, values = narrowed(symbols.centroids)
            return _streams(mask=mask, labels=put(len(labels)) + labels + pack(values)), {"values": name}
        books = Codebooks.of(symbols, shapes)
        mask, labels = _smallest(_net(symbols, shapes, books), shapes)
        return _streams(mask=mask, labels=labels, centroids=books.pack()), {}

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
        """The symbols. Raises BundleError where the streams are not what ``encode`` makes for such shapes."""
        expected = {"mask", "labels"} if header else {"mask", "labels", "centroids"}
        if set(streams) != expected or any(stream.dtype != np.uint8 for stream in streams.values()):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its encoder")
        content = {name: memoryview(stream.tobytes()) for name, stream in streams.items()}
        try:
            if header:
                return _unquantized(content["mask"], content["labels"], header, shapes)
            weights = sum(math.prod(shape) for shape in shapes)
            books = Codebooks.unpack(content["centroids"], weights, len(shapes))
            net = _read(content["mask"], content["labels"], shapes)
            tables = books.tables(grids=net.memory > 0)
            return Symbols(net.keep, books.labels(net.keep, shapes, net.numbers, tables), books.centroids())
        except (AssertionError, ValueError) as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error


@dataclass(frozen=True, eq=False)
class _Net:
    """What is coded: the mask, a signed number other than 0 for each kept weight, and the trellis' memory or 0."""

    keep: Bools
    numbers: Ints
    memory: int = 0

    def parts(self, gathered: Sequence[Sequence[Piece]]) -> Iterator[tuple[Sequence[Piece], Bools, Ints]]:
        """Each segment's pieces, mask and numbers."""
        read = 0
        for pieces in gathered:
            keep = self.keep[pieces[0].start : pieces[-1].start + pieces[-1].size]
            count = int(np.count_nonzero(keep))
            yield pieces, keep, self.numbers[read : read + count]
            read += count


def _streams(**parts: bytes) -> Streams:
    return {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}


def _net(symbols: Symbols, shapes: Shapes, books: Codebooks) -> _Net:
    """The labels as numbers; as multiples of grids where these are paths through a trellis."""
    with contextlib.suppress(ValueError):
        net = _Net(symbols.keep, books.numbers(symbols, shapes, books.tables(grids=True)))
        parts = net.parts(segments(shapes))
        memory = _paths.common_memory((pieces, _spread(keep, numbers)) for pieces, keep, numbers in parts)
        if memory:
            return replace(net, memory=memory)
    return _Net(symbols.keep, books.numbers(symbols, shapes, books.tables(grids=False)))


def _spread(keep: Bools, numbers: Ints) -> Ints:
    """The numbers in their places, 0 elsewhere."""
    spread = np.zeros(len(keep), np.int32)
    spread[keep] = numbers
    return spread


def _smallest(net: _Net, shapes: Shapes) -> tuple[bytes, bytes]:
    """Mask and labels in the kind that is smallest, by what the file's own deflate makes of the plain one."""
    kind = _WALKED if net.memory or len(net.keep) <= _WALK else _QUICK
    coded = mapped(lambda part: _written(net, *part, kind), net.parts(segments(shapes)))
    mask = bytes([kind]) + _values.join([part for part, _ in coded])
    labels = _values.join([part for _, part in coded])
    if len(net.keep) <= _TRY_PLAIN and not net.memory:
        plain = bytes([_PLAIN]) + zlib.compress(np.packbits(net.keep).tobytes(), 9), _plain_numbers(net.numbers)
        if sum(map(len, plain)) < len(mask) + len(labels):
            return plain
    return mask, labels


def _written(net: _Net, pieces: Sequence[Piece], keep: Bools, numbers: Ints, kind: int) -> tuple[bytes, bytes]:
    if kind == _QUICK:
        return _quick.write(pieces, keep, numbers)
    magnitudes, negative = np.abs(numbers), numbers < 0
    spread = _spread(keep, magnitudes)
    if net.memory:
        steps = _paths.steps_of(pieces, spread, net.memory)
        if steps is None:
            raise ValueError("a path was lost")
        spread = steps
    return _segment.write(pieces, spread, negative, net.memory)


def _read(mask: memoryview, labels: memoryview, shapes: Shapes) -> _Net:
    """Mask and numbers. Raises ValueError."""
    weights = sum(math.prod(shape) for shape in shapes)
    kind = mask[0] if len(mask) else -1
    if kind == _PLAIN:
        return _read_plain(mask[1:], labels, weights)
    if kind not in (_WALKED, _BLOCKS, _QUICK) or weights > SEGMENT * (len(mask) // _FEWEST_BYTES + 1):
        raise ValueError("the mask is of an unknown kind, or too short for so many weights")
    gathered = segments(shapes)
    masks, rests = _values.split(mask[1:], len(gathered)), _values.split(labels, len(gathered))
    read = mapped(lambda part: _read_part(*part, kind), zip(gathered, masks, rests, strict=True))
    memories = {part.memory for part in read} or {0}
    if len(memories) > 1:
        raise ValueError("segments of different trellises")
    keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in read)])
    return _Net(keep, np.concatenate([np.empty(0, np.int32), *(part.numbers for part in read)]), memories.pop())


def _read_part(pieces: Sequence[Piece], mask: bytes, labels: bytes, kind: int) -> _Net:
    if kind != _WALKED:
        return _Net(*(_quick if kind == _QUICK else _blocks).read(pieces, mask, labels))
    spread, negative, memory = _segment.read(pieces, mask, labels)
    if memory:
        spread = _paths.multiples_of(pieces, spread, memory)
    keep = spread > 0
    return _Net(keep, np.where(negative, -spread[keep], spread[keep]), memory)


def _plain_numbers(numbers: Ints) -> bytes:
    """The numbers under deflate, as the smallest of 4-bit, 1-byte and 4-byte integers that can hold them."""
    widest = int(np.max(np.abs(numbers), initial=0))
    forms = [bytes([4]) + zlib.compress(numbers.astype("<i4").tobytes(), 9)] if widest > 127 else []
    if widest <= 127:
        forms.append(bytes([1]) + zlib.compress(numbers.astype("<i1").tobytes(), 9))
    below = max(0, -int(np.min(numbers, initial=0)))
    if below + max(0, int(np.max(numbers, initial=0))) <= 16:
        places = np.where(numbers < 0, numbers + below, numbers + below - 1).astype(np.uint8)
        pairs = np.pad(places, (0, len(places) % 2)).reshape(-1, 2)
        forms.append(bytes([0, below]) + zlib.compress((pairs[:, 0] << 4 | pairs[:, 1]).tobytes(), 9))
    return min(forms, key=len)


def _numbers_of(content: memoryview, count: int) -> Ints:
    """The inverse of ``_plain_numbers``. Raises ValueError."""
    if len(content) < 2 or content[0] not in (0, 1, 4):
        raise ValueError("labels of an unknown form")
    if content[0]:
        raw = inflated(bytes(content[1:]), count * content[0])
        return np.frombuffer(raw, f"<i{content[0]}").astype(np.int32)
    pairs = np.frombuffer(inflated(bytes(content[2:]), -(-count // 2)), np.uint8)
    places = np.stack([pairs >> 4, pairs & 15], axis=1).reshape(-1)[:count].astype(np.int32)
    return np.where(places < content[1], places - content[1], places - content[1] + 1)


def _read_plain(mask: memoryview, labels: memoryview, weights: int) -> _Net:
    packed = inflated(bytes(mask), -(-weights // 8))
    keep = np.unpackbits(np.frombuffer(packed, np.uint8), count=weights).astype(np.bool_)
    numbers = _numbers_of(labels, int(np.count_nonzero(keep)))
    if np.any(numbers == 0):
        raise ValueError("a kept weight has the label of none")
    return _Net(keep, numbers)


def _unquantized(mask: memoryview, labels: memoryview, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
    size, rest = take(labels)
    net = _read(mask, rest[:size], shapes)
    if np.any(net.numbers != 1):
        raise ValueError("labels where there are none")
    values = unpack(rest[size:], len(net.numbers), stored_type(header))
    return Symbols(net.keep, None, widened(values, header))
