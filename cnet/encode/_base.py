"""What an encoder is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.encode._others import Kind
from cnet.registry import Part, Registry
from cnet.symbols import Symbols

Streams = Mapping[str, npt.NDArray[np.generic]]
"""Arrays to store as members ``mask``, ``labels`` and ``centroids`` of the bundle."""


class Encoder(Part):
    """A pair: symbols to arrays that are stored in the bundle, and back, exactly.

    ``decode(encode(s, shapes), header(s), shapes)`` gives symbols equal to ``s``. A change of what ``encode`` writes
    for the same symbols needs a new format version: bundles of old versions decode for ever.
    """

    @property
    def others(self) -> Kind | None:
        """How tensors that are not compressible are packed; None: their bytes as they are."""
        return None

    @abstractmethod
    def encode(self, symbols: Symbols, shapes: list[tuple[int, ...]]) -> tuple[Streams, dict[str, Any]]:
        """The streams and a small JSON header that the manifest keeps for ``decode``.

        Args:
            symbols: mask, labels and centroids of w_net.
            shapes: shapes of the compressible tensors, in order of w_net: where rows and columns lie.
        """

    @abstractmethod
    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols. Raises BundleError where streams, header and shapes contradict each other."""


ENCODERS: Registry[Encoder] = Registry("encoder", "cnet.encode")
