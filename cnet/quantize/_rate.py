"""What a magnitude costs under the compact coder: tables of bits, from how often each occurs in each context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.levels import LEVELS
from cnet.coding.compact.walk import bucket_of, first_of, place_bits

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_NEIGHBOUR = 0.1
_OVERALL = 20.0  # occurrences that all contexts together are worth in each
_LEAST = 1e-3
_SIGN = 1.0


@dataclass(frozen=True, eq=False)
class Rates:
    """Bits of the magnitudes 0..largest in each context.

    Attributes:
        bits: float32, shape (grids, LEVELS, largest + 1), sign included.
    """

    bits: npt.NDArray[np.float32]

    @classmethod
    def of(cls, magnitudes: Ints, contexts: npt.NDArray[np.uint8], grids: npt.NDArray[np.uint8], largest: int) -> Rates:
        """The rates if all weights were coded as these, with the tables that they make.

        Args:
            magnitudes: flat.
            contexts: the level of each, 0..LEVELS-1.
            grids: 0 or 1 for each; with no trellis all 0.
            largest: the largest magnitude to have a rate.
        """
        buckets = int(bucket_of(np.array([largest]))[0]) + 1
        kinds = np.where(magnitudes > 0, bucket_of(np.maximum(magnitudes, 1)) + 1, 0)
        keys = (grids.astype(np.int64) * LEVELS + contexts) * (buckets + 1) + kinds
        counts = np.bincount(keys, minlength=2 * LEVELS * (buckets + 1)).reshape(2, LEVELS, buckets + 1)
        lengths = np.stack([_smoothed(table.astype(np.float64)) for table in counts])
        inner = _places(np.bincount(magnitudes, minlength=largest + 1)[: largest + 1].astype(np.float64), buckets)
        kind_of = np.concatenate([[0], bucket_of(np.arange(1, largest + 1)) + 1])
        return cls((lengths[:, :, kind_of] + inner).astype(np.float32))


def _smoothed(counts: Floats) -> Floats:
    """Bits of each kind in each context; contexts lean on their neighbours and on the whole."""
    padded = np.pad(counts, ((1, 1), (0, 0)), mode="edge")
    overall = counts.sum(axis=0) + _LEAST
    smooth = counts + _NEIGHBOUR * (padded[:-2] + padded[2:]) + _OVERALL * overall / overall.sum() + _LEAST
    lengths: Floats = -np.log2(smooth / smooth.sum(axis=1, keepdims=True))
    return lengths


def _places(counts: Floats, buckets: int) -> Floats:
    """Bits of the place of each magnitude in its bucket, and of its sign."""
    bits = np.full(len(counts), _SIGN)
    bits[0] = 0.0
    for bucket in range(buckets):
        first = first_of(bucket)
        part = slice(first, min(first + (1 << place_bits(bucket)), len(counts)))
        smooth = counts[part] + 1.0
        bits[part] += -np.log2(smooth / smooth.sum())
    return bits
