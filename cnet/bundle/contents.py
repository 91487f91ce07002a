"""The parts of a bundle's file (mask, labels, centroids, other tensors), decoded when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.bundle.container import ByteRange, ContainerReader, StoredMember
from cnet.bundle.container.errors import inconsistent
from cnet.bundle.manifest import JoinedLayout, Manifest, SeparateLayout
from cnet.bundle.reconstruction import ScalesEntry, apply_entry, split_factors
from cnet.coding import ENCODERS, DecodedSymbols, Encoder, SegmentEncoder, Streams, SymbolDecoder
from cnet.coding.other_tensors import TypedCount, split_counts, unpack_arrays
from cnet.errors import BundleError, SpecError
from cnet.formats.parsing.quoting import quoted
from cnet.symbols import Symbols

Bytes = npt.NDArray[np.uint8]

_FOREIGN = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)  # what decoding forged data may raise


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Raise BundleError in place of whatever else decoding ``what`` raises."""
    try:
        yield
    except _FOREIGN as error:
        raise inconsistent(f"{what} cannot be decoded") from error


class BundleContents(Protocol):
    """The parts of one file. Every method raises BundleError where the file is not as it was written."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of mask, labels, centroids and other, as far as the file has them."""

    def values(self, part: slice) -> npt.NDArray[np.floating]:
        """``w_net[part]``: a new array, float32 or float64."""

    def other(self, part: slice) -> Bytes:
        """Some of the other tensors' bytes: a new array."""

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of w_net."""

    def verify(self) -> None:
        """Read and decode everything once."""


def contents_of(reader: ContainerReader, manifest: Manifest) -> BundleContents:
    """The parts of a file. Raises BundleError where its members are not those of the manifest."""
    layout = manifest.layout
    named = {"data"} if isinstance(layout, JoinedLayout) else set(layout.members)
    if set(reader.entries) != {*named, "manifest"}:
        raise inconsistent("its members are not those that its manifest names")
    if isinstance(layout, JoinedLayout):
        return _JoinedContents(reader, manifest, layout)
    return _SeparateContents(reader, manifest, layout)


class _SeparateContents:
    """A member for each part: each is read and decoded as a whole."""

    def __init__(self, reader: ContainerReader, manifest: Manifest, layout: SeparateLayout) -> None:
        self._reader = reader
        self._manifest = manifest
        self._layout = layout

    @property
    def sizes(self) -> Mapping[str, int]:
        """As in ``BundleContents``."""
        return {name: self._reader.entries[name].packed for name in self._layout.members}

    def values(self, part: slice) -> npt.NDArray[np.floating]:
        """As in ``BundleContents``."""
        return self._decoded.values(part)

    def other(self, part: slice) -> Bytes:
        """As in ``BundleContents``."""
        return self._other[part].copy()

    def symbols(self) -> Symbols:
        """As in ``BundleContents``."""
        return self._decoded.symbols()

    def verify(self) -> None:
        """As in ``BundleContents``."""
        self._decoded.verify()
        self.other(slice(0, 0))

    @cached_property
    def _decoded(self) -> SymbolDecoder:
        encoder, shapes = _encoder(self._manifest), self._manifest.compressible_shapes
        streams: Streams = {name: self._member(name) for name in self._layout.members if name != "other"}
        streams, factors = split_factors(streams, self._manifest.reconstruction)
        with decoding("its compressible tensors"):
            symbols = encoder.decode(streams, self._manifest.header, shapes)
            if len(symbols.keep) == sum(map(math.prod, shapes)):
                return apply_entry(DecodedSymbols(symbols), self._manifest.reconstruction, factors, shapes)
        raise inconsistent(f"its mask has {len(symbols.keep)} entries, and its tensors have another number of weights")

    @cached_property
    def _other(self) -> Bytes:
        if "other" not in self._layout.members:
            return np.empty(0, np.uint8)
        return self._member("other").view(np.uint8)

    def _member(self, name: str) -> npt.NDArray[np.generic]:
        return self._reader.member(name, self._layout.members[name].array())


class _JoinedContents:
    """All parts in one member: segments and blocks are decoded one by one, and the last of each stays in memory."""

    def __init__(self, reader: ContainerReader, manifest: Manifest, layout: JoinedLayout) -> None:
        self._manifest = manifest
        self._layout = layout
        self._data = StoredMember(reader, "data", layout.length, layout.digests)
        self._last: tuple[int, Bytes] = (-1, np.empty(0, np.uint8))
        if manifest.other_bytes > _most_other_bytes(layout):
            raise inconsistent(f"its blocks are too short for {manifest.other_bytes} bytes of other tensors")
        self._blocks: Sequence[Sequence[TypedCount]] = split_counts(manifest.others)
        if len(self._blocks) != len(layout.others):
            raise inconsistent(f"it has {len(layout.others)} blocks of other tensors in place of {len(self._blocks)}")

    @property
    def sizes(self) -> Mapping[str, int]:
        """As in ``BundleContents``."""
        return {**self._layout.sizes, "other": sum(self._layout.others)}

    def values(self, part: slice) -> npt.NDArray[np.floating]:
        """As in ``BundleContents``."""
        return self._decoded.values(part)

    def other(self, part: slice) -> Bytes:
        """As in ``BundleContents``."""
        found = np.empty(part.stop - part.start, np.uint8)
        start = 0
        for number, block in enumerate(self._blocks):
            stop = start + _bytes_of(block)
            first, last = max(start, part.start), min(stop, part.stop)
            if first < last:
                found[first - part.start : last - part.start] = self._block(number)[first - start : last - start]
            start = stop
        return found

    def symbols(self) -> Symbols:
        """As in ``BundleContents``."""
        with decoding("its compressible tensors"):
            return self._decoded.symbols()

    def verify(self) -> None:
        """As in ``BundleContents``."""
        self._data.verify()
        with decoding("its compressible tensors"):
            self._decoded.verify()
        for number in range(len(self._blocks)):
            self._block(number)

    @cached_property
    def _decoded(self) -> SymbolDecoder:
        encoder = _encoder(self._manifest)
        if not isinstance(encoder, SegmentEncoder):
            raise inconsistent(f"its encoder {quoted(self._manifest.encoder)} does not join all parts in one member")
        streams: dict[str, ByteRange] = {}
        start = 0
        for name, size in self._layout.sizes.items():
            streams[name] = ByteRange(self._data, start, size)
            start += size
        shapes = self._manifest.compressible_shapes
        with decoding("its compressible tensors"):
            factors = self._split_factors(streams)
            decoded = encoder.open(streams, self._manifest.header, shapes)
            return apply_entry(decoded, self._manifest.reconstruction, factors, shapes)

    def _split_factors(self, streams: dict[str, ByteRange]) -> Bytes:
        """The packed factors of rows, which are taken off the end of the centroids in ``streams``."""
        entry, centroids = self._manifest.reconstruction, streams.get("centroids")
        if not isinstance(entry, ScalesEntry):
            return np.empty(0, np.uint8)
        if centroids is None or len(centroids) < entry.length:
            raise inconsistent(f"{entry.length} bytes of factors do not fit into its centroids")
        end = len(centroids) - entry.length
        streams["centroids"] = ByteRange(self._data, centroids.start, end)
        return np.frombuffer(centroids.read(end, len(centroids)), np.uint8)

    def _block(self, number: int) -> Bytes:
        """Bytes of the other tensors of one block."""
        if self._last[0] != number:
            sizes = self._layout.others
            start = sum(self._layout.sizes.values()) + sum(sizes[:number])
            content = self._data.read(start, start + sizes[number])
            with decoding("its other tensors"):
                packed = memoryview(content)
                self._last = number, unpack_arrays(packed, self._blocks[number], self._layout.packing.kind)
        return self._last[1]


def _most_other_bytes(layout: JoinedLayout) -> int:
    """More bytes than the blocks can hold."""
    return sum(size + 1 for size in layout.others) * 2**24


def _bytes_of(block: Sequence[TypedCount]) -> int:
    return sum(count * dtypes.by_name(dtype).numpy.itemsize for dtype, count in block)


def _encoder(manifest: Manifest) -> Encoder:
    try:
        return ENCODERS.create(manifest.encoder)
    except SpecError as error:
        raise BundleError(
            f"bundle: this release has no decoder {quoted(manifest.encoder)}. Install a newer release of cnet, "
            "or the package that adds this encoder."
        ) from error
