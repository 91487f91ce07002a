"""The compact encoding: the symbols entropy-coded under models of where zeros lie and which labels are near them.

Streams, all bytes. The first byte of ``mask`` says how mask and labels are stored:

    0  plain: ``mask`` goes on with ``numpy.packbits`` of what is kept, ``labels`` are numbers of 4 bits, 1 byte or 4
       bytes as their first byte says (0, 1, 4), both deflated (zlib); before those of 4 bits, how many are below zero
    3  walked, 5 quick (``_quick``): the lengths of all segments' streams but the last, then the streams; 5 for nets of
       more than 2^21 weights

``centroids`` are as in ``_codebooks``. Without a quantizer there are no centroids: ``labels``, in kinds 3 and 5 each
segment of ``labels``, begins with its own streams as above, after their length, and goes on with the kept values
(``_floats``) in the smallest type that holds all of the net's exactly; the header names it as ``values``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cnet.coding.compact.coded import Net, Numbers, Segments, type_of_values, values_of
from cnet.coding.compact.layout import segments
from cnet.coding.compact.lengths import Stream
from cnet.coding.compact.opening import Held, Kinds, opened
from cnet.coding.compact.plain import plain
from cnet.coding.encoder import ENCODERS, Content, Decoded, SegmentEncoder, Shapes, Streams
from cnet.coding.exact_values import narrowed
from cnet.coding.other_tensors import Kind
from cnet.coding.primitives.byte_planes import pack
from cnet.coding.primitives.threads import mapped
from cnet.coding.primitives.varint import put
from cnet.errors import BundleError
from cnet.symbols import SymbolParts, Symbols, whole

_TRY_PLAIN = 2**21  # weights; in larger nets it hardly ever wins, and takes time
_WALK = 2**21


@ENCODERS.register("compact")
class Compact(SegmentEncoder):
    """Mask and labels under adaptive models by layer, row, column and neighbours; exact on every machine."""

    context_rates: ClassVar[bool] = True

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
        parts: dict[str, list[bytes]] = {}
        heads, header = self.write(symbols, shapes, lambda name, part: parts.setdefault(name, []).append(part))
        streams = {name: heads[name] + b"".join(parts.get(name, ())) for name in heads}
        return {name: np.frombuffer(stream, np.uint8) for name, stream in streams.items()}, header

    def write(
        self, symbols: SymbolParts, shapes: Shapes, put: Callable[[str, bytes], object]
    ) -> tuple[dict[str, bytes], dict[str, Any]]:
        """The same streams, segment by segment."""
        if symbols.weights <= _TRY_PLAIN:
            symbols = whole(symbols)
        written = _Written(symbols, shapes, segments(shapes), put)
        return written.smallest() if symbols.weights <= _TRY_PLAIN else written.coded()

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
        """The symbols. Raises BundleError where the streams are not what ``encode`` makes for such shapes."""
        if any(stream.dtype != np.uint8 for stream in streams.values()):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its encoder")
        held = {name: Held(stream.tobytes()) for name, stream in streams.items()}
        return self.open(held, header, shapes).symbols()

    def open(self, streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes) -> Decoded:
        """A decoder of segments; of all at once where the net is stored plainly."""
        if set(streams) != ({"mask", "labels"} if header else {"mask", "labels", "centroids"}):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its encoder")
        try:
            return opened(streams, header, shapes)
        except (AssertionError, ValueError) as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error


@dataclass(frozen=True, eq=False)
class _Written:
    """A net on its way into streams."""

    symbols: SymbolParts
    shapes: Shapes
    gathered: Segments
    put: Callable[[str, bytes], object]

    def coded(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """The net's segments, coded and written one at a time."""
        numbers = Numbers.of(self.symbols, self.gathered, len(self.shapes))
        return self._segments(numbers, self._nets(numbers))

    def smallest(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """The same, or the plain form where that is smaller by what the file's own deflate made of it."""
        numbers = Numbers.of(self.symbols, self.gathered, len(self.shapes))
        coded = list(self._nets(numbers))
        if not numbers.memory:
            net = _whole(numbers)
            mask, labels = plain(net.keep, net.numbers)
            if 1 + len(mask) + len(labels) < sum(len(part) for pair in coded for part in pair):
                return self._plain(numbers, mask, labels)
        return self._segments(numbers, iter(coded))

    def _nets(self, numbers: Numbers) -> Iterator[tuple[bytes, bytes]]:
        quick = self._quick(numbers)
        return mapped(lambda part: part[0].written(part[1], quick=quick), zip(numbers, self.gathered, strict=True))

    def _quick(self, numbers: Numbers) -> bool:
        return not numbers.memory and self.symbols.weights > _WALK

    def _segments(
        self, numbers: Numbers, coded: Iterator[tuple[bytes, bytes]]
    ) -> tuple[dict[str, bytes], dict[str, Any]]:
        kind = Kinds.QUICK if self._quick(numbers) else Kinds.WALKED
        mask = Stream(lambda part: self.put("mask", part), bytes([kind]))
        labels = Stream(lambda part: self.put("labels", part))
        name = type_of_values(self.symbols, self.gathered) if numbers.books is None else ""
        values = values_of(self.symbols, self.gathered, name) if name else itertools.repeat(None)
        for (zeros, signs), kept in zip(coded, values, strict=False):
            mask.add(zeros)
            labels.add(signs if kept is None else put(len(signs)) + signs + kept)
        return self._ended(numbers, {"mask": mask.head(), "labels": labels.head()}, name)

    def _plain(self, numbers: Numbers, mask: bytes, labels: bytes) -> tuple[dict[str, bytes], dict[str, Any]]:
        name = ""
        if numbers.books is None:
            name, values = narrowed(whole(self.symbols).centroids)
            labels = put(len(labels)) + labels + pack(values)
        self.put("mask", mask)
        self.put("labels", labels)
        return self._ended(numbers, {"mask": bytes([Kinds.PLAIN]), "labels": b""}, name)

    def _ended(self, numbers: Numbers, heads: dict[str, bytes], name: str) -> tuple[dict[str, bytes], dict[str, Any]]:
        if numbers.books is None:
            return heads, {"values": name}
        self.put("centroids", numbers.books.pack())
        return heads | {"centroids": b""}, {}


def _whole(numbers: Numbers) -> Net:
    """All segments as one."""
    nets = list(numbers)
    keep = np.concatenate([np.empty(0, np.bool_), *(net.keep for net in nets)])
    return Net(keep, np.concatenate([np.empty(0, np.int32), *(net.numbers for net in nets)]))
