"""What stays of w_net after pruning and quantizing: a mask, a label per kept weight, and the centroids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Symbols:
    """The paper's three parts of one net.

    Attributes:
        keep: bool, shape (n,): which entries of w_net are kept. All others decode to exactly 0.
        labels: uint8 or uint16, shape (kept,): index into ``centroids`` of each kept weight, in order of w_net.
        centroids: float32 (float64 where a float64 net needs it: distinct values kept exactly, or out of range), shape
            (k,), finite, ascending, no duplicates.

    Quantizer ``none`` keeps the values: ``labels`` is None and ``centroids`` holds one value a kept weight, in order
    of w_net. Only there may a kept value be zero: a negative one (-0.0), whose sign the mask alone would lose.
    """

    keep: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None
    centroids: npt.NDArray[np.floating]

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

    def vector(self) -> npt.NDArray[np.floating]:
        """w_net as decoded: shape (n,), type of ``centroids``, zero where pruned."""
        vector = np.zeros(len(self.keep), self.centroids.dtype)
        start = 0
        for first in range(0, len(self.keep), _CHUNK):
            at = np.flatnonzero(self.keep[first : first + _CHUNK])  # faster than the mask itself as an index
            part = slice(start, start + len(at))
            values = self.centroids[part] if self.labels is None else self.centroids[self.labels[part]]
            vector[first : first + _CHUNK][at] = values
            start = part.stop
        return vector
