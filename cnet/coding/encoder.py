"""The contract of an encoder: symbols to streams of bytes or arrays, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from cnet.coding.other_tensors import Packing
from cnet.parts.registry import Part, Registry
from cnet.reconstruction import Reconstruction
from cnet.symbols import Symbols, SymbolSource

Floats = npt.NDArray[np.floating]
Shapes = list[tuple[int, ...]]

Streams = Mapping[str, npt.NDArray[np.generic]]
"""Arrays by the names ``mask``, ``labels`` and ``centroids``, as the bundle stores them."""


class ByteSource(Protocol):
    """The bytes of one stream, read on demand."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``. Raises BundleError where they are damaged or missing."""


class SymbolDecoder(Protocol):
    """Decodes the symbols of one network on demand."""

    @property
    def centroids(self) -> Floats | None:
        """All centroids, shape (k,); None where the weights are not quantized."""

    def with_reconstruction(self, reconstruction: Reconstruction) -> SymbolDecoder:
        """The same decoder; what a weight's place does to its centroid is ``reconstruction``."""

    def values(self, part: slice) -> Floats:
        """w_net[part]: a new array, shape (weights of the slice,), float32 or float64.

        Raises:
            BundleError: the streams are damaged.
        """

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of all of w_net. Raises BundleError where the streams are damaged."""

    def verify(self) -> None:
        """Decode everything once, without keeping it. Raises BundleError where the streams are damaged."""


@dataclass(frozen=True, eq=False)
class DecodedSymbols:
    """A ``SymbolDecoder`` of symbols that are in memory already.

    Attributes:
        decoded: the symbols.
    """

    decoded: Symbols

    @property
    def centroids(self) -> Floats | None:
        """As in ``SymbolDecoder``."""
        return None if self.decoded.labels is None else self.decoded.centroids

    def with_reconstruction(self, reconstruction: Reconstruction) -> DecodedSymbols:
        """As in ``SymbolDecoder``."""
        return DecodedSymbols(replace(self.decoded, reconstruction=reconstruction))

    @cached_property
    def _vector(self) -> Floats:
        return self.decoded.vector()

    def values(self, part: slice) -> Floats:
        """As in ``SymbolDecoder``."""
        return self._vector[part].copy()

    def symbols(self) -> Symbols:
        """As in ``SymbolDecoder``."""
        return self.decoded

    def verify(self) -> None:
        """Do nothing: all symbols are decoded."""


class Encoder(Part):
    """A pair of functions: symbols to the arrays that a bundle stores, and these back to equal symbols.

    ``decode(encode(s, shapes), header(s), shapes)`` gives symbols equal to ``s``. After the first release, a change of
    what ``encode`` writes for the same symbols needs a new format version, as every released version stays readable.
    """

    context_rates: ClassVar[bool] = False
    """Whether labels cost what ``cnet.coding.rates`` predicts, so that quantizers can choose labels by their cost."""

    @property
    def other_packing(self) -> Packing | None:
        """How tensors that are not compressible are packed; None stores their bytes as they are."""
        return None

    @abstractmethod
    def encode(self, symbols: Symbols, shapes: Shapes) -> tuple[Streams, dict[str, Any]]:
        """The streams, and a small JSON header that the manifest keeps for ``decode``.

        Args:
            symbols: mask, labels and centroids of w_net.
            shapes: of the compressible tensors, in the order of w_net.
        """

    @abstractmethod
    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
        """The symbols. Raises BundleError where streams, header and shapes contradict each other."""


class SegmentEncoder(Encoder):
    """An encoder of segments, each by itself, so that a network need not be in memory to be written or read.

    Its streams are bytes.
    """

    @property
    def streams(self) -> bool:
        """Always (``cnet.parts.capabilities.Streamable``)."""
        return True

    @abstractmethod
    def write(
        self, symbols: SymbolSource, shapes: Shapes, put: Callable[[str, bytes], object]
    ) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the streams segment by segment.

        Args:
            symbols: as for ``encode``; need not be in memory.
            shapes: as for ``encode``.
            put: called with the name of a stream and bytes that are appended to it.

        Returns:
            for each stream the bytes that precede all that was put; and the header.
        """

    @abstractmethod
    def open(self, streams: Mapping[str, ByteSource], header: Mapping[str, Any], shapes: Shapes) -> SymbolDecoder:
        """A decoder that reads only what it is asked for. Raises BundleError as ``decode`` does, here or later."""


ENCODERS: Registry[Encoder] = Registry("encoder", "cnet.coding")
