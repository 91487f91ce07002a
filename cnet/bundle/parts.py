"""The parts of a bundle's file, decoded when they are asked for; the format is specified in ``cnet.bundle``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.bundle.container import Reader, Span, Stored
from cnet.bundle.manifest import Joined, Manifest
from cnet.bundle.reconstruction import ScalesEntry, attached, parted
from cnet.coding import ENCODERS, DecodedSymbols, Encoder, SegmentEncoder, Streams, SymbolDecoder
from cnet.coding.other_tensors import Packing, TypedCount, split_counts, unpack_arrays
from cnet.errors import BundleError, SpecError
from cnet.symbols import Symbols

Bytes = npt.NDArray[np.uint8]

FOREIGN = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
"""What decoding something forged may raise."""


class Parts(Protocol):
    """What is behind a bundle. All of it raises BundleError where the file is not as it was written."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of mask, labels, centroids and other, as far as they are there."""

    def values(self, place: slice) -> npt.NDArray[np.floating]:
        """w_net[place], a new array."""

    def other(self, place: slice) -> Bytes:
        """Some bytes of the other tensors, a new array."""

    def symbols(self) -> Symbols:
        """All symbols."""

    def verify(self) -> None:
        """Read and decode everything once."""


def parts_of(reader: Reader, manifest: Manifest) -> Parts:
    """The parts. Raises BundleError where file and manifest contradict each other."""
    joined = manifest.joined
    names = {*manifest.members, "manifest"} if joined is None else {"data", "manifest"}
    if set(reader.entries) != names:
        raise BundleError("the bundle contradicts itself: its members are not those of the manifest")
    return _Apart(reader, manifest) if joined is None else _Together(reader, manifest, joined)


class _Apart:
    """Versions 1 and 2: each part is read whole."""

    def __init__(self, reader: Reader, manifest: Manifest) -> None:
        self._reader = reader
        self._manifest = manifest

    @property
    def sizes(self) -> Mapping[str, int]:
        """As in ``Parts``."""
        return {name: self._reader.entries[name].packed for name in self._manifest.members}

    def values(self, place: slice) -> npt.NDArray[np.floating]:
        """As in ``Parts``."""
        return self._decoded.values(place)

    def other(self, place: slice) -> Bytes:
        """As in ``Parts``."""
        return self._other[place].copy()

    def symbols(self) -> Symbols:
        """As in ``Parts``."""
        return self._decoded.symbols()

    def verify(self) -> None:
        """As in ``Parts``."""
        self._decoded.verify()
        self.other(slice(0, 0))

    @cached_property
    def _decoded(self) -> SymbolDecoder:
        encoder, shapes = _encoder(self._manifest), self._manifest.compressible_shapes
        streams: Streams = {name: self._member(name) for name in self._manifest.members if name != "other"}
        streams, factors = parted(streams, self._manifest.local)
        try:
            symbols = encoder.decode(streams, self._manifest.header, shapes)
            if len(symbols.keep) == sum(map(math.prod, shapes)):
                return attached(DecodedSymbols(symbols), self._manifest.local, factors, shapes)
        except FOREIGN as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error
        raise BundleError("the bundle contradicts itself: its arrays are not those of its tensors")

    @cached_property
    def _other(self) -> Bytes:
        member = self._member("other").view(np.uint8) if "other" in self._manifest.members else np.empty(0, np.uint8)
        if self._manifest.other is None:
            return member
        return _unpacked(member.tobytes(), self._manifest.others, self._manifest.other.kind)

    def _member(self, name: str) -> npt.NDArray[np.generic]:
        return self._reader.member(name, self._manifest.members[name].packed())


class _Together:
    """Version 3: segments and blocks are read one by one, the last of each kept."""

    def __init__(self, reader: Reader, manifest: Manifest, joined: Joined) -> None:
        self._manifest = manifest
        self._joined = joined
        self._data = Stored(reader, "data", joined.length, joined.digests)
        self._last: tuple[int, Bytes] = (-1, np.empty(0, np.uint8))
        self._blocks: Sequence[Sequence[TypedCount]] = []
        if manifest.other_bytes > _most_other_bytes(joined):
            raise BundleError("the bundle contradicts itself: it has too few bytes for its other tensors")
        self._blocks = split_counts(manifest.others)
        if len(self._blocks) != len(joined.others):
            raise BundleError("the bundle contradicts itself: its blocks are not those of its other tensors")

    @property
    def sizes(self) -> Mapping[str, int]:
        """As in ``Parts``."""
        return {**self._joined.sizes, "other": sum(self._joined.others)}

    def values(self, place: slice) -> npt.NDArray[np.floating]:
        """As in ``Parts``."""
        return self._decoded.values(place)

    def other(self, place: slice) -> Bytes:
        """As in ``Parts``."""
        found = np.empty(place.stop - place.start, np.uint8)
        start = 0
        for number, block in enumerate(self._blocks):
            stop = start + _bytes_of(block)
            first, last = max(start, place.start), min(stop, place.stop)
            if first < last:
                found[first - place.start : last - place.start] = self._block(number)[first - start : last - start]
            start = stop
        return found

    def symbols(self) -> Symbols:
        """As in ``Parts``."""
        try:
            return self._decoded.symbols()
        except FOREIGN as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error

    def verify(self) -> None:
        """As in ``Parts``."""
        self._data.verify()
        try:
            self._decoded.verify()
        except FOREIGN as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error
        for number in range(len(self._blocks)):
            self._block(number)

    @cached_property
    def _decoded(self) -> SymbolDecoder:
        encoder = _encoder(self._manifest)
        if not isinstance(encoder, SegmentEncoder):
            raise BundleError("the bundle contradicts itself: its encoder does not write such files")
        streams: dict[str, Span] = {}
        start = 0
        for name, size in self._joined.sizes.items():
            streams[name] = Span(self._data, start, size)
            start += size
        shapes = self._manifest.compressible_shapes
        try:
            tail = self._factors(streams)
            decoded = encoder.open(streams, self._manifest.header, shapes)
            return attached(decoded, self._manifest.local, tail, shapes)
        except FOREIGN as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error

    def _factors(self, streams: dict[str, Span]) -> Bytes:
        """The factors of rows, cut off from the end of the centroids."""
        entry, centroids = self._manifest.local, streams.get("centroids")
        if not isinstance(entry, ScalesEntry):
            return np.empty(0, np.uint8)
        if centroids is None or len(centroids) < entry.length:
            raise BundleError("the bundle contradicts itself: it has fewer factors than its manifest says")
        cut = len(centroids) - entry.length
        streams["centroids"] = Span(self._data, centroids.start, cut)
        return np.frombuffer(centroids.read(cut, len(centroids)), np.uint8)

    def _block(self, number: int) -> Bytes:
        if self._last[0] != number:
            sizes = self._joined.others
            start = sum(self._joined.sizes.values()) + sum(sizes[:number])
            content = self._data.read(start, start + sizes[number])
            self._last = number, _unpacked(content, self._blocks[number], self._kind)
        return self._last[1]

    @property
    def _kind(self) -> Packing:
        return self._manifest.other.kind if self._manifest.other else "planes"


def _most_other_bytes(joined: Joined) -> int:
    """More bytes than the blocks can hold."""
    return sum(size + 1 for size in joined.others) * 2**24


def _bytes_of(block: Sequence[TypedCount]) -> int:
    return sum(count * dtypes.by_name(dtype).numpy.itemsize for dtype, count in block)


def _unpacked(content: bytes, described: Sequence[TypedCount], kind: Packing) -> Bytes:
    try:
        return unpack_arrays(memoryview(content), described, kind)
    except FOREIGN as error:
        raise BundleError("the bundle's other tensors cannot be decoded") from error


def _encoder(manifest: Manifest) -> Encoder:
    try:
        return ENCODERS.create(manifest.encoder)
    except SpecError as error:
        raise BundleError(f"this release has no decoder {manifest.encoder!r}: use a newer one") from error
