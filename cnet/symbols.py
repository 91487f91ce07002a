"""What stays of w_net after pruning and quantizing: a mask, a label per kept weight, and the centroids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet.arrays import CACHED_CHUNK, slices
from cnet.reconstruction import Local


class SymbolParts(Protocol):
    """The symbols of a net that need not be in memory all at once."""

    @property
    def weights(self) -> int:
        """Length of w_net."""

    @property
    def clusters(self) -> int | None:
        """Number of centroids, or None where the values are kept as they are."""

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """All centroids; without labels only its type means something."""

    @property
    def local(self) -> Local | None:
        """What a kept weight's place does to its centroid, or None; the parts do not have it."""

    def parts(self, cuts: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of slices of w_net that follow each other from its start; each time anew."""


@dataclass(frozen=True, eq=False)
class Symbols:
    """The paper's three parts of one net.

    Attributes:
        keep: bool, shape (n,): which entries of w_net are kept. All others decode to exactly 0.
        labels: uint8 or uint16, shape (kept,): index into ``centroids`` of each kept weight, in order of w_net.
        centroids: float32 (float64 where a float64 net needs it: distinct values kept exactly, or out of range), shape
            (k,), finite, ascending, no duplicates.
        local: where a kept weight is more than its centroid: what its place does to it; only with labels.

    Quantizer ``none`` keeps the values: ``labels`` is None and ``centroids`` holds one value a kept weight, in order
    of w_net. Only there may a kept value be zero: a negative one (-0.0), whose sign the mask alone would lose.
    """

    keep: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None
    centroids: npt.NDArray[np.floating]
    local: Local | None = None

    @property
    def weights(self) -> int:
        """Length of w_net."""
        return len(self.keep)

    @property
    def clusters(self) -> int | None:
        """Number of centroids, or None where the values are kept as they are."""
        return None if self.labels is None else len(self.centroids)

    @property
    def sparsity(self) -> float:
        """Fraction of w_net that is zero, counted; 0 for an empty net."""
        if not len(self.keep):
            return 0.0
        kept = np.count_nonzero(self.centroids) if self.labels is None else np.count_nonzero(self.keep)
        return float(len(self.keep) - kept) / len(self.keep)

    def parts(self, cuts: Iterable[slice]) -> Iterator[Symbols]:
        """As in ``SymbolParts``; the arrays are views."""
        start = 0
        for cut in cuts:
            keep = self.keep[cut]
            part = slice(start, start + int(np.count_nonzero(keep)))
            start = part.stop
            if self.labels is None:
                yield Symbols(keep, None, self.centroids[part])
            else:
                yield Symbols(keep, self.labels[part], self.centroids)

    def vector(self, place: int = 0) -> npt.NDArray[np.floating]:
        """w_net as decoded: shape (n,), type of ``centroids``, zero where pruned.

        Args:
            place: of the first weight in its net.
        """
        vector = np.zeros(len(self.keep), self.centroids.dtype)
        start = 0
        for chunk in slices(len(self.keep), CACHED_CHUNK):
            at = np.flatnonzero(self.keep[chunk])  # faster than the mask itself as an index
            part = slice(start, start + len(at))
            values = self.centroids[part] if self.labels is None else self.centroids[self.labels[part]]
            if self.local is not None:
                values = self.local.applied(values, place + chunk.start + at)
            vector[chunk][at] = values
            start = part.stop
        return vector


def whole(symbols: SymbolParts) -> Symbols:
    """All parts as one."""
    if isinstance(symbols, Symbols):
        return symbols
    return next(symbols.parts([slice(0, symbols.weights)]))
