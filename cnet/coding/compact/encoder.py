"""The encoder ``compact``: from the symbols of a network to its streams ``mask``, ``labels`` and ``centroids``.

The first byte of ``mask`` is the form of mask and labels (``stream_layout``): 0 for a network that is stored deflated,
because that is smaller; 3 for adaptive segments; 5 for Huffman segments, in networks of more than 2^24 weights.
``codebooks`` describes the stream ``centroids``.

Without a quantizer there is no stream ``centroids``, and the non-zero weights follow in ``labels`` (in forms 3 and 5 in
each of its segments). It is then: the length of the bytes that it would have otherwise, these bytes, and the non-zero
weights as byte planes (``byte_planes``). Their type is the smallest that holds all of them exactly; the header names it
as ``values``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cnet.coding.compact.decoder import open_streams
from cnet.coding.compact.deflated import deflate_network
from cnet.coding.compact.segment_symbols import NetworkSymbols, packed_values, type_of_values
from cnet.coding.compact.stream_layout import SegmentStream, StreamForm
from cnet.coding.encoder import ENCODERS, ByteSource, SegmentEncoder, Shapes, Streams, SymbolDecoder
from cnet.coding.exact_values import narrow_exactly
from cnet.coding.other_tensors import Packing
from cnet.coding.primitives.byte_planes import pack_planes
from cnet.coding.primitives.parallel import parallel_map
from cnet.coding.primitives.varint import encode_varint
from cnet.coding.segments import SEGMENT_WEIGHTS, segments_of
from cnet.errors import BundleError
from cnet.symbols import Symbols, SymbolSource, load_symbols


@dataclass(frozen=True)
class CompactLimits:
    """Sizes, in weights, that decide how a network is coded. Only ``segment`` must be the same when decoding.

    Attributes:
        segment: weights of a segment, about.
        adaptive: larger networks, unless they follow a trellis, are coded under Huffman codes, to save time.
        deflated: larger networks are not tried deflated, which hardly ever is smaller then, and takes time.
    """

    segment: int = SEGMENT_WEIGHTS
    adaptive: int = 2**24
    deflated: int = 2**21


@dataclass(frozen=True)
class _BytesInMemory:
    """A stream in memory as a ``ByteSource``."""

    content: bytes

    def __len__(self) -> int:
        return len(self.content)

    def read(self, start: int, stop: int) -> bytes:
        return self.content[start:stop]


@ENCODERS.register("compact")
class Compact(SegmentEncoder):
    """Mask and labels under adaptive models by layer, row, column and neighbours; exact on every machine."""

    context_rates: ClassVar[bool] = True

    name: Literal["compact"] = "compact"
    summary: ClassVar[str] = "Entropy-coded under models of layers, rows, columns and neighbours: the smallest file."
    source: ClassVar[str] = "Wiedemann et al., DeepCABAC (2019), for contexts; Bamler, constriction (2022), the coder"

    #: The sizes that decide how a network is coded; those of the format.
    limits: ClassVar[CompactLimits] = CompactLimits()

    other: Literal["exact", "float16"] = Field(
        default="exact", description="Biases, batch-norm and all else that is not compressible: as it is, or rounded."
    )

    @property
    def other_packing(self) -> Packing:
        """Byte planes, of values rounded to float16 where that is asked for."""
        return "planes" if self.other == "exact" else "float16"

    def encode(self, symbols: Symbols, shapes: Shapes) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and ``centroids``; the header is empty, or ``{"values": type}``."""
        parts: dict[str, list[bytes]] = {}
        heads, header = self.write(symbols, shapes, lambda name, part: parts.setdefault(name, []).append(part))
        streams = {name: heads[name] + b"".join(parts.get(name, ())) for name in heads}
        return {name: np.frombuffer(stream, np.uint8) for name, stream in streams.items()}, header

    def write(
        self, symbols: SymbolSource, shapes: Shapes, put: Callable[[str, bytes], object]
    ) -> tuple[dict[str, bytes], dict[str, Any]]:
        """The streams of ``encode``, segment by segment."""
        try_deflated = symbols.weights <= self.limits.deflated
        if try_deflated:
            symbols = load_symbols(symbols)
        network = NetworkSymbols.of(symbols, segments_of(shapes, self.limits.segment), len(shapes))
        huffman = not network.memory and symbols.weights > self.limits.adaptive
        writer = _NetworkWriter(network, StreamForm.HUFFMAN if huffman else StreamForm.ADAPTIVE, put)
        return writer.write_smallest() if try_deflated else writer.write_segments(writer.coded_segments())

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
        """The symbols. Raises BundleError where the streams are not what ``encode`` makes for such shapes."""
        if any(stream.dtype != np.uint8 for stream in streams.values()):
            raise BundleError("bundle streams: some do not have the type uint8. Write the bundle again.")
        sources = {name: _BytesInMemory(stream.tobytes()) for name, stream in streams.items()}
        return self.open(sources, header, shapes).symbols()

    def open(self, streams: Mapping[str, ByteSource], header: Mapping[str, Any], shapes: Shapes) -> SymbolDecoder:
        """A decoder that reads and decodes only the segments that it is asked for."""
        expected = {"mask", "labels"} if header else {"mask", "labels", "centroids"}
        if set(streams) != expected:
            raise BundleError(
                f"bundle streams: there are {sorted(streams)}, not {sorted(expected)}. Write the bundle again."
            )
        try:
            return open_streams(streams, header, shapes, self.limits.segment)
        except (AssertionError, ValueError) as error:  # constriction asserts
            detail = "its streams are not those of its tensors"
            raise BundleError(f"bundle: {detail}. Restore it from a copy, or write it again.") from error


@dataclass(frozen=True, eq=False)
class _NetworkWriter:
    """Writes the streams of one network.

    Attributes:
        network: its symbols.
        form: how segments are coded.
        put: as in ``SegmentEncoder.write``.
    """

    network: NetworkSymbols
    form: StreamForm
    put: Callable[[str, bytes], object]

    def coded_segments(self) -> Iterator[tuple[bytes, bytes]]:
        """Each segment's bytes in the mask stream and in the label stream."""
        return parallel_map(
            lambda each: each[0].encode(each[1], self.form), zip(self.network, self.network.segments, strict=True)
        )

    def write_smallest(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write segments, or the whole network deflated where that is smaller."""
        coded = list(self.coded_segments())
        if not self.network.memory:
            symbols = self.network.in_one()
            mask, labels = deflate_network(symbols.keep, symbols.signed)
            if 1 + len(mask) + len(labels) < sum(len(part) for pair in coded for part in pair):
                return self._write_deflated(mask, labels)
        return self.write_segments(iter(coded))

    def write_segments(self, coded: Iterator[tuple[bytes, bytes]]) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write segments, each once it is coded."""
        mask = SegmentStream(lambda part: self.put("mask", part), bytes([self.form]))
        labels = SegmentStream(lambda part: self.put("labels", part))
        symbols, segments = self.network.symbols, self.network.segments
        name = type_of_values(symbols, segments) if self.network.codebooks is None else ""
        values = packed_values(symbols, segments, name) if name else itertools.repeat(None)
        for (mask_part, label_part), own in zip(coded, values, strict=False):
            mask.add(mask_part)
            labels.add(label_part if own is None else encode_varint(len(label_part)) + label_part + own)
        return self._finish({"mask": mask.head(), "labels": labels.head()}, name)

    def _write_deflated(self, mask: bytes, labels: bytes) -> tuple[dict[str, bytes], dict[str, Any]]:
        name = ""
        if self.network.codebooks is None:
            name, values = narrow_exactly(load_symbols(self.network.symbols).centroids)
            labels = encode_varint(len(labels)) + labels + pack_planes(values)
        self.put("mask", mask)
        self.put("labels", labels)
        return self._finish({"mask": bytes([StreamForm.DEFLATED]), "labels": b""}, name)

    def _finish(self, heads: dict[str, bytes], name: str) -> tuple[dict[str, bytes], dict[str, Any]]:
        if self.network.codebooks is None:
            return heads, {"values": name}
        self.put("centroids", self.network.codebooks.pack())
        return heads | {"centroids": b""}, {}
