"""The symbols of one segment as they are coded, and those of a network segment by segment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.adaptive_segment import decode_adaptive, encode_adaptive
from cnet.coding.compact.codebooks import Codebooks
from cnet.coding.compact.huffman_segment import decode_huffman, encode_huffman
from cnet.coding.compact.lanes import common_memory, multiples_of, steps_of
from cnet.coding.compact.stream_layout import StreamForm
from cnet.coding.exact_values import candidate_types, restore_values, store_as, stored_type
from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes
from cnet.coding.segments import Segment
from cnet.symbols import Symbols, SymbolSource

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SegmentSymbols:
    """The symbols of one segment, its labels as signed integers.

    Attributes:
        keep: which weights are non-zero: bool, shape (weights,).
        signed: their labels as signed integers, none 0: int32, shape (non-zeros,); all 1 without a quantizer.
        memory: bits of the state of the trellis that ``signed`` are multiples along, or 0.
    """

    keep: Bools
    signed: Ints
    memory: int = 0

    def encode(self, segment: Segment, form: StreamForm) -> tuple[bytes, bytes]:
        """The segment's bytes in the mask stream and in the label stream."""
        if form is StreamForm.HUFFMAN:
            return encode_huffman(segment, self.keep, self.signed)
        magnitudes = self.magnitudes()
        if self.memory:
            steps = steps_of(segment, magnitudes, self.memory)
            if steps is None:
                raise ValueError(
                    f"symbols: they do not follow a trellis of memory {self.memory}. Encode them with memory 0."
                )
            magnitudes = steps
        return encode_adaptive(segment, magnitudes, self.signed < 0, self.memory)

    @classmethod
    def decode(cls, segment: Segment, mask: bytes, labels: bytes, form: StreamForm) -> SegmentSymbols:
        """The inverse of ``encode``. Raises ValueError where the bytes are not those of such a segment."""
        if form is StreamForm.HUFFMAN:
            return cls(*decode_huffman(segment, mask, labels))
        magnitudes, negative, memory = decode_adaptive(segment, mask, labels)
        if memory:
            magnitudes = multiples_of(segment, magnitudes, memory)
        keep = magnitudes > 0
        return cls(keep, np.where(negative, -magnitudes[keep], magnitudes[keep]), memory)

    def magnitudes(self) -> Ints:
        """The magnitude of each weight's signed integer, 0 where pruned: int32, shape (weights,)."""
        magnitudes = np.zeros(len(self.keep), np.int32)
        magnitudes[self.keep] = np.abs(self.signed)
        return magnitudes


@dataclass(frozen=True, eq=False)
class NetworkSymbols:
    """The symbols of a network, which are iterated over segment by segment.

    Attributes:
        symbols: need not be in memory.
        segments: of the network.
        codebooks: None without a quantizer.
        tables: the signed integer of each centroid, for each codebook: int32, shape (centroids,).
        memory: bits of the state of the trellis that all segments follow, or 0.
    """

    symbols: SymbolSource
    segments: Sequence[Segment]
    codebooks: Codebooks | None
    tables: Sequence[Ints] = ()
    memory: int = 0

    @classmethod
    def of(cls, symbols: SymbolSource, segments: Sequence[Segment], tensors: int) -> NetworkSymbols:
        """The symbols of a network of ``tensors`` tensors; as multiples of grids where they follow a trellis."""
        if symbols.clusters is None:
            return cls(symbols, segments, None)
        codebooks = Codebooks.of(symbols, segments, tensors)
        with contextlib.suppress(ValueError):  # the centroids lie on no grid
            on_grid = cls(symbols, segments, codebooks, codebooks.signed_tables(multiples=True))
            memory = common_memory((s, part.magnitudes()) for s, part in zip(segments, on_grid, strict=True))
            if memory:
                return replace(on_grid, memory=memory)
        return cls(symbols, segments, codebooks, codebooks.signed_tables(multiples=False))

    def __iter__(self) -> Iterator[SegmentSymbols]:
        parts = self.symbols.read(segment.place for segment in self.segments)
        for segment, part in zip(self.segments, parts, strict=True):
            if self.codebooks is None:
                yield SegmentSymbols(part.keep, np.ones(len(part.centroids), np.int32))
            else:
                yield SegmentSymbols(part.keep, self.codebooks.to_signed(part, segment, self.tables), self.memory)

    def in_one(self) -> SegmentSymbols:
        """The symbols of all segments together."""
        parts = list(self)
        keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in parts)])
        return SegmentSymbols(keep, np.concatenate([np.empty(0, np.int32), *(part.signed for part in parts)]))


def type_of_values(symbols: SymbolSource, segments: Sequence[Segment]) -> str:
    """Name of the first type that holds all unquantized values of a network exactly."""
    found = candidate_types(symbols.centroids.dtype)
    for part in symbols.read(segment.place for segment in segments):
        found = [name for name in found if store_as(part.centroids, name) is not None]
        if len(found) == 1:
            break
    return found[0]


def packed_values(symbols: SymbolSource, segments: Sequence[Segment], name: str) -> Iterator[bytes]:
    """The unquantized values of one segment after the other, as byte planes of the type called ``name``."""
    for part in symbols.read(segment.place for segment in segments):
        values = store_as(part.centroids, name)
        if values is None:
            raise ValueError(
                f"values: some do not fit the type {name}, which an earlier pass found. "
                "Give the same symbols at each pass."
            )
        yield pack_planes(values)


def unquantized_symbols(keep: Bools, signed: Ints, values: memoryview, header: Mapping[str, Any]) -> Symbols:
    """The symbols of weights that are not quantized.

    Args:
        keep: which weights are non-zero: bool, shape (weights,).
        signed: their labels, all 1: int32, shape (non-zeros,).
        values: the weights, as byte planes.
        header: names their type as ``values``.

    Raises:
        ValueError: there are labels, or the values are not as many.
    """
    if np.any(signed != 1):
        raise ValueError("labels stream: it holds labels, but there are no centroids. Write the bundle again.")
    stored = unpack_planes(values, len(signed), stored_type(header))
    return Symbols(keep, None, restore_values(stored, header))
