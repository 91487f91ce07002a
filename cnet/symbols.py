"""Symbols: a pruned and quantized model as a mask, a label for each kept weight, and the centroids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet import arrays
from cnet.reconstruction import Reconstruction


class SymbolSource(Protocol):
    """The symbols of a model that need not be in memory all at once."""

    @property
    def weights(self) -> int:
        """Length of w_net."""

    @property
    def clusters(self) -> int | None:
        """Number of centroids; None where the values are kept as they are."""

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """All centroids, shape (k,). Without labels only the element type is used."""

    @property
    def reconstruction(self) -> Reconstruction | None:
        """How the position of a kept weight changes its centroid, or None. What ``read`` gives does not have it."""

    def read(self, slices: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of consecutive slices that cover w_net from its start, computed each time they are asked for."""


@dataclass(frozen=True, eq=False)
class Symbols:
    """The three parts of a compressed model, as in the paper.

    Attributes:
        keep: the mask, bool, shape (n,): True for the entries of w_net that are kept. All others decode to exactly 0.
        labels: index into ``centroids`` of each kept weight, in the order of w_net, uint8 or uint16, shape (kept,).
        centroids: shared values, finite, ascending, without duplicates, shape (k,). They are float32, or float64 where
            a float64 model needs it: for distinct values that are kept exactly, or values out of range.
        reconstruction: how the position of a kept weight changes its centroid; None: a kept weight is its centroid.
            Only where there are labels.

    The quantizer ``none`` keeps the values: ``labels`` is None and ``centroids`` contains one value for each kept
    weight, in the order of w_net. Only there may a kept value be zero: a negative zero (-0.0), whose sign the mask
    would lose.
    """

    keep: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None
    centroids: npt.NDArray[np.floating]
    reconstruction: Reconstruction | None = None

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

    def read(self, slices: Iterable[slice]) -> Iterator[Symbols]:
        """As ``SymbolSource.read``; the arrays are views."""
        start = 0
        for part in slices:
            keep = self.keep[part]
            kept = slice(start, start + int(np.count_nonzero(keep)))
            start = kept.stop
            if self.labels is None:
                yield Symbols(keep, None, self.centroids[kept])
            else:
                yield Symbols(keep, self.labels[kept], self.centroids)

    def vector(self, first: int = 0) -> npt.NDArray[np.floating]:
        """w_net as decoded, zero where pruned, of the element type of ``centroids``, shape (n,).

        Args:
            first: position in w_net of the first weight of these symbols.
        """
        vector = np.zeros(len(self.keep), self.centroids.dtype)
        start = 0
        for chunk in arrays.slices(len(self.keep), arrays.CACHED_CHUNK):
            indexes = np.flatnonzero(self.keep[chunk])  # indexes are faster than the mask
            kept = slice(start, start + len(indexes))
            values = self.centroids[kept] if self.labels is None else self.centroids[self.labels[kept]]
            if self.reconstruction is not None:
                values = self.reconstruction.apply(values, first + chunk.start + indexes)
            vector[chunk][indexes] = values
            start = kept.stop
        return vector


def load_symbols(symbols: SymbolSource) -> Symbols:
    """All symbols of a model at once, in memory."""
    if isinstance(symbols, Symbols):
        return symbols
    return next(symbols.read([slice(0, symbols.weights)]))
