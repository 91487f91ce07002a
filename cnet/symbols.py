"""Symbols: a pruned and quantized model as a mask, a label for each kept weight, and the centroids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet.arrays import CACHED_CHUNK, slices
from cnet.reconstruction import Local


class SymbolParts(Protocol):
    """The symbols of a model that need not be in memory all at once."""

    @property
    def weights(self) -> int:
        """Length of w_net."""

    @property
    def clusters(self) -> int | None:
        """Number of centroids; None where the values are kept as they are."""

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """All centroids, shape (k,). Where there are no labels only the element type counts."""

    @property
    def local(self) -> Local | None:
        """How the position of a kept weight changes its centroid, or None. The symbols of ``parts`` do not have it."""

    def parts(self, cuts: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of consecutive slices that cover w_net from its start, computed each time they are asked for."""


@dataclass(frozen=True, eq=False)
class Symbols:
    """The three parts of a compressed model, as in the paper.

    Attributes:
        keep: the mask, bool, shape (n,): True for the entries of w_net that are kept. All others decode to exactly 0.
        labels: index into ``centroids`` of each kept weight, in the order of w_net, uint8 or uint16, shape (kept,).
        centroids: shared values, finite, ascending, without duplicates, shape (k,). They are float32, or float64 where
            a float64 model needs it: for distinct values that are kept exactly, or values out of range.
        local: how the position of a kept weight changes its centroid; None: a kept weight is its centroid. Only with
            labels.

    The quantizer ``none`` keeps the values: ``labels`` is None and ``centroids`` contains one value for each kept
    weight, in the order of w_net. Only there may a kept value be zero: a negative zero (-0.0), whose sign the mask
    would lose.
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
        """Number of centroids; None where the values are kept as they are."""
        return None if self.labels is None else len(self.centroids)

    @property
    def sparsity(self) -> float:
        """Fraction of w_net that is zero, by count; 0 where w_net is empty."""
        if not len(self.keep):
            return 0.0
        kept = np.count_nonzero(self.centroids) if self.labels is None else np.count_nonzero(self.keep)
        return float(len(self.keep) - kept) / len(self.keep)

    def parts(self, cuts: Iterable[slice]) -> Iterator[Symbols]:
        """As ``SymbolParts.parts``; the arrays are views."""
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
        """w_net as decoded, zero where pruned, of the element type of ``centroids``, shape (n,).

        Args:
            place: position in w_net of the first weight of these symbols.
        """
        vector = np.zeros(len(self.keep), self.centroids.dtype)
        start = 0
        for chunk in slices(len(self.keep), CACHED_CHUNK):
            at = np.flatnonzero(self.keep[chunk])  # indexes are faster than the mask
            part = slice(start, start + len(at))
            values = self.centroids[part] if self.labels is None else self.centroids[self.labels[part]]
            if self.local is not None:
                values = self.local.applied(values, place + chunk.start + at)
            vector[chunk][at] = values
            start = part.stop
        return vector


def whole(symbols: SymbolParts) -> Symbols:
    """All symbols of a model at once, in memory."""
    if isinstance(symbols, Symbols):
        return symbols
    return next(symbols.parts([slice(0, symbols.weights)]))
