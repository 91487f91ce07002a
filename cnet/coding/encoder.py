"""What an encoder is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from cnet.coding.other_tensors import Kind
from cnet.reconstruction import Local
from cnet.registry import Part, Registry
from cnet.symbols import SymbolParts, Symbols

Floats = npt.NDArray[np.floating]
Shapes = list[tuple[int, ...]]

Streams = Mapping[str, npt.NDArray[np.generic]]
"""Arrays to store as members ``mask``, ``labels`` and ``centroids`` of the bundle."""


class Content(Protocol):
    """The bytes of one stream, read where they are asked for."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``. Raises BundleError where they are damaged or not there."""


class Decoded(Protocol):
    """A decoder at work on one net."""

    @property
    def centroids(self) -> Floats | None:
        """All centroids; None where values are kept as they are."""

    def with_local(self, local: Local) -> Decoded:
        """The same with what the places of weights do to their centroids."""

    def values(self, part: slice) -> Floats:
        """w_net[part]: a new array, float32 or float64. Raises BundleError."""

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of all of w_net. Raises BundleError."""

    def verify(self) -> None:
        """Decode everything once, keeping nothing. Raises BundleError."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A decoder that has finished."""

    found: Symbols

    @property
    def centroids(self) -> Floats | None:
        """As in ``Decoded``."""
        return None if self.found.labels is None else self.found.centroids

    def with_local(self, local: Local) -> Whole:
        """As in ``Decoded``."""
        return Whole(replace(self.found, local=local))

    @cached_property
    def _vector(self) -> Floats:
        return self.found.vector()

    def values(self, part: slice) -> Floats:
        """As in ``Decoded``."""
        return self._vector[part].copy()

    def symbols(self) -> Symbols:
        """As in ``Decoded``."""
        return self.found

    def verify(self) -> None:
        """Nothing is left to be decoded."""


class Encoder(Part):
    """A pair: symbols to arrays that are stored in the bundle, and back, exactly.

    ``decode(encode(s, shapes), header(s), shapes)`` gives symbols equal to ``s``. A change of what ``encode`` writes
    for the same symbols needs a new format version: bundles of old versions decode for ever.
    """

    context_rates: ClassVar[bool] = False
    """Whether labels cost what ``cnet.coding.rates`` predicts, so that quantizers can choose labels by their cost."""

    @property
    def others(self) -> Kind | None:
        """How tensors that are not compressible are packed; None: their bytes as they are."""
        return None

    @abstractmethod
    def encode(self, symbols: Symbols, shapes: Shapes) -> tuple[Streams, dict[str, Any]]:
        """The streams and a small JSON header that the manifest keeps for ``decode``.

        Args:
            symbols: mask, labels and centroids of w_net.
            shapes: shapes of the compressible tensors, in order of w_net: where rows and columns lie.
        """

    @abstractmethod
    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: Shapes) -> Symbols:
        """The symbols. Raises BundleError where streams, header and shapes contradict each other."""


class SegmentEncoder(Encoder):
    """An encoder of segments, each by itself: nets need not be in memory to be written or read.

    Its streams are bytes, and its bundles are of format version 3.
    """

    @property
    def streams(self) -> bool:
        """Always (``cnet.capabilities.Streamable``)."""
        return True

    @abstractmethod
    def write(
        self, symbols: SymbolParts, shapes: Shapes, put: Callable[[str, bytes], object]
    ) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the streams piece by piece.

        Args:
            symbols: as for ``encode``; need not be in memory.
            shapes: as for ``encode``.
            put: takes the name of a stream, and bytes that go to its end.

        Returns:
            what comes before all else in each stream that was written to, and the header.
        """

    @abstractmethod
    def open(self, streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes) -> Decoded:
        """A decoder that reads what it is asked for. Raises BundleError as ``decode``, here or later."""


ENCODERS: Registry[Encoder] = Registry("encoder", "cnet.coding")
