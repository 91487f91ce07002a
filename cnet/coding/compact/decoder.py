"""From the streams of a network to its symbols, segment by segment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.codebooks import Codebooks
from cnet.coding.compact.deflated import inflate_network
from cnet.coding.compact.segment_symbols import SegmentSymbols, unquantized_symbols
from cnet.coding.compact.stream_layout import StreamForm, segment_bounds
from cnet.coding.encoder import ByteSource, DecodedSymbols, Shapes, SymbolDecoder
from cnet.coding.primitives.parallel import Prefetcher, parallel_map
from cnet.coding.primitives.varint import decode_varint
from cnet.coding.segments import Segment, segments_of
from cnet.errors import BundleError
from cnet.reconstruction import Reconstruction
from cnet.symbols import Symbols

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.floating]

_MIN_MASK_BYTES = 5  # of a segment


def open_streams(
    streams: Mapping[str, ByteSource], header: Mapping[str, Any], shapes: Shapes, segment_weights: int
) -> SymbolDecoder:
    """The decoder of a network's streams.

    Args:
        streams: ``mask``, ``labels`` and, with a quantizer, ``centroids``.
        header: names the type of unquantized values as ``values``; empty with a quantizer.
        shapes: of the compressible tensors, in the order of w_net.
        segment_weights: weights of a segment.

    Raises:
        ValueError: the streams are not those of such a network.
    """
    weights = sum(math.prod(shape) for shape in shapes)
    mask = streams["mask"]
    form = StreamForm(mask.read(0, 1)[0] if len(mask) else -1)
    if form is StreamForm.DEFLATED:
        return DecodedSymbols(_inflated(streams, header, shapes, weights))
    if weights > segment_weights * (len(mask) // _MIN_MASK_BYTES + 1):
        raise ValueError(f"mask stream: {len(mask)} bytes are too few for {weights} weights. Write the bundle again.")
    codebooks = None if header else Codebooks.unpack(_all(streams["centroids"]), weights, len(shapes))
    segments = segments_of(shapes, segment_weights)
    bounds = {
        "mask": segment_bounds(streams["mask"], 1, len(segments)),
        "labels": segment_bounds(streams["labels"], 0, len(segments)),
    }
    return SegmentDecoder(segments, streams, bounds, form, codebooks, header)


def _inflated(streams: Mapping[str, ByteSource], header: Mapping[str, Any], shapes: Shapes, weights: int) -> Symbols:
    """The symbols of a network that is stored deflated; unquantized values follow all labels."""
    mask, labels = _all(streams["mask"])[1:], _all(streams["labels"])
    if header:
        size, rest = decode_varint(labels)
        return unquantized_symbols(*inflate_network(mask, rest[:size], weights), rest[size:], header)
    codebooks = Codebooks.unpack(_all(streams["centroids"]), weights, len(shapes))
    keep, signed = inflate_network(mask, labels, weights)
    whole = Segment(tuple(block for segment in segments_of(shapes) for block in segment.blocks))
    tables = codebooks.signed_tables(multiples=False)
    return Symbols(keep, codebooks.to_labels(whole, keep, signed, tables), codebooks.centroids())


def _all(content: ByteSource) -> memoryview:
    return memoryview(content.read(0, len(content)))


@dataclass(eq=False)
class SegmentDecoder:
    """Decodes the segments that are asked for; keeps the last one.

    Segments that are asked for in order are decoded in parallel.

    Attributes:
        segments: of the network.
        streams: ``mask`` and ``labels``.
        bounds: for each of the two, where each segment lies in it.
        form: how segments are coded.
        codebooks: the centroids; None where weights are not quantized.
        header: names the type of such weights.
        reconstruction: what a weight's place does to its centroid, if anything.
    """

    segments: Sequence[Segment]
    streams: Mapping[str, ByteSource]
    bounds: Mapping[str, Sequence[slice]]
    form: StreamForm
    codebooks: Codebooks | None
    header: Mapping[str, Any]
    reconstruction: Reconstruction | None = None
    _tables: dict[bool, Sequence[Ints]] = field(default_factory=dict, init=False)

    @property
    def centroids(self) -> Floats | None:
        """As in ``SymbolDecoder``."""
        return None if self.codebooks is None else self.codebooks.centroids()

    def with_reconstruction(self, reconstruction: Reconstruction) -> SegmentDecoder:
        """As in ``SymbolDecoder``."""
        return replace(self, reconstruction=reconstruction)

    def values(self, part: slice) -> Floats:
        """As in ``SymbolDecoder``."""
        found: Floats = np.empty(part.stop - part.start, self._dtype)
        for number, segment in enumerate(self.segments):
            place = segment.place
            first, last = max(place.start, part.start), min(place.stop, part.stop)
            if first < last:
                vector = self._vectors[number]
                found[first - part.start : last - part.start] = vector[first - place.start : last - place.start]
        return found

    def symbols(self) -> Symbols:
        """As in ``SymbolDecoder``."""
        parts = list(self._parts())
        keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in parts)])
        if self.codebooks is None:
            return Symbols(keep, None, np.concatenate([np.empty(0, self._dtype), *(p.centroids for p in parts)]))
        centroids = self.codebooks.centroids()
        labels = [np.empty(0, np.uint8 if len(centroids) <= 256 else np.uint16)]
        labels += [part.labels for part in parts if part.labels is not None]
        return Symbols(keep, np.concatenate(labels), centroids, self.reconstruction)

    def verify(self) -> None:
        """As in ``SymbolDecoder``."""
        for _ in self._parts():
            pass

    def prepare(self, number: int) -> Callable[[], tuple[Symbols, int]]:
        """Read the bytes of a segment; the function that is returned decodes them to symbols and trellis memory."""
        mask, labels = (self._read(name, number) for name in ("mask", "labels"))

        def decode() -> tuple[Symbols, int]:
            try:
                return self._decode(self.segments[number], mask, labels)
            except (AssertionError, ValueError) as error:  # constriction asserts
                detail = f"segment {number} is damaged"
                raise BundleError(f"bundle: {detail}. Restore it from a copy, or write it again.") from error

        return decode

    @property
    def _dtype(self) -> np.dtype[Any]:
        if self.codebooks is None:
            return np.dtype(np.float64 if self.header["values"] == "float64" else np.float32)
        return self.codebooks.centroids().dtype

    def _parts(self) -> Iterator[Symbols]:
        memories = set()
        for part, memory in parallel_map(lambda task: task(), map(self.prepare, range(len(self.segments)))):
            memories.add(memory)
            yield part
        if len(memories) > 1:
            detail = f"its segments have trellises of different memories {sorted(memories)}"
            raise BundleError(f"bundle: {detail}. Restore it from a copy, or write it again.")

    @cached_property
    def _vectors(self) -> Prefetcher[Floats]:
        return Prefetcher(self._prepare_vector, len(self.segments))

    def _prepare_vector(self, number: int) -> Callable[[], Floats]:
        decode, start = self.prepare(number), self.segments[number].place.start
        return lambda: replace(decode()[0], reconstruction=self.reconstruction).vector(start)

    def _read(self, name: str, number: int) -> bytes:
        bounds = self.bounds[name][number]
        return self.streams[name].read(bounds.start, bounds.stop)

    def _decode(self, segment: Segment, mask: bytes, labels: bytes) -> tuple[Symbols, int]:
        if self.codebooks is None:
            size, rest = decode_varint(memoryview(labels))
            found = SegmentSymbols.decode(segment, mask, bytes(rest[:size]), self.form)
            return unquantized_symbols(found.keep, found.signed, rest[size:], self.header), found.memory
        found = SegmentSymbols.decode(segment, mask, labels, self.form)
        tables = self._signed_tables(self.codebooks, multiples=found.memory > 0)
        own = self.codebooks.to_labels(segment, found.keep, found.signed, tables)
        return Symbols(found.keep, own, self.codebooks.centroids()), found.memory

    def _signed_tables(self, codebooks: Codebooks, *, multiples: bool) -> Sequence[Ints]:
        if multiples not in self._tables:
            self._tables[multiples] = codebooks.signed_tables(multiples=multiples)
        return self._tables[multiples]
