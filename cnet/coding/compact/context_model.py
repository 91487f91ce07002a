"""The context in which a weight is coded: its level, shifted by the weights before it in its neighbourhood.

Weights are arranged in lanes (``lanes``); step t codes weight t of all lanes at once. A weight's level moves up or
down by how the weights before it in the same neighbourhood (a kernel, or some columns in a row) compare with the
magnitudes expected on their own levels. Level and shift are computed in integers, so that encoder and decoder agree on
every machine.

A non-zero weight is coded as the bucket of its magnitude and its position in the bucket. Magnitudes are 1, 2, ...; the
buckets are 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, ..., two for each power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.lanes import Bytes, LaneGroup, LongInts
from cnet.coding.compact.magnitude_levels import LEVELS
from cnet.coding.primitives.entropy_coder import Ints

GAINS = (0, 1, 2, 3, 4, 6)
"""Possible gains: levels by which a weight's level moves where its neighbours are twice as large as expected."""

BUCKET_SYMBOLS = 24
"""Number of the symbols of ``bucket_symbols``."""

_PRIOR = 25  # how much a weight's own expectation counts beside its neighbours', which count 4 to 10 each
_MAX_SHIFT = 8
_UNIT = 1024
_SINGLE_BUCKETS = 4  # buckets of one magnitude
_EXPECTATIONS_PER_OCTAVE = 4  # expected magnitudes are powers of two to this fraction of an octave


def bucket_of(magnitudes: npt.NDArray[np.integer]) -> Ints:
    """Bucket 0, 1, ... of magnitudes 1, 2, ...: int32, of the same shape."""
    buckets: Ints = _buckets_below(1 << int(magnitudes.max(initial=1)).bit_length())[magnitudes]
    return buckets


@cache
def _buckets_below(most: int) -> Ints:
    """Buckets of the magnitudes 0 (of no use) to ``most`` - 1, a power of two."""
    rank = np.maximum(np.arange(most) - 1, 0)
    exponent = np.frexp(np.maximum(rank, 1).astype(np.float64))[1] - 1
    wide = 2 * exponent + ((rank >> np.maximum(exponent - 1, 0)) & 1)
    return np.where(rank < _SINGLE_BUCKETS, rank, wide).astype(np.int32)


def place_bits(bucket: int) -> int:
    """Bits of a magnitude's place in its bucket."""
    return 0 if bucket < _SINGLE_BUCKETS else bucket // 2 - 1


def lowest_of(bucket: int) -> int:
    """The smallest magnitude of a bucket."""
    return bucket + 1 if bucket < _SINGLE_BUCKETS else ((2 + bucket % 2) << place_bits(bucket)) + 1


def bucket_symbols(magnitudes: Ints) -> npt.NDArray[np.uint8]:
    """Symbols to choose parameters by: 0 for zero, else 1 + the bucket, the largest buckets taken together.

    Args:
        magnitudes: int32, any shape.

    Returns:
        uint8, of the same shape, below BUCKET_SYMBOLS.
    """
    all_magnitudes = np.arange(int(magnitudes.max(initial=1)) + 1)
    table = np.minimum(bucket_of(all_magnitudes) + 1, BUCKET_SYMBOLS - 1).astype(np.uint8)
    table[0] = 0
    symbols: npt.NDArray[np.uint8] = table[magnitudes]
    return symbols


def expected_magnitudes(levels: Sequence[Bytes], magnitudes: Sequence[Ints]) -> LongInts:
    """Mean magnitude on each level in 1/16, as the bundle stores it: int64, shape (LEVELS,), at least 1.

    Args:
        levels: uint8, shape (weights,), one array for each block.
        magnitudes: int32, likewise; 0 where pruned.
    """
    counts, sums = np.ones(LEVELS), np.zeros(LEVELS)
    for level, part in zip(levels, magnitudes, strict=True):
        counts += np.bincount(level, minlength=LEVELS)
        sums += np.bincount(level, part, minlength=LEVELS)
    codes = np.rint(_EXPECTATIONS_PER_OCTAVE * np.log2(np.maximum(16 * sums / counts, 1.0)))
    return np.array([expected_of_code(int(code)) for code in codes], np.int64)


def expected_of_code(code: int) -> int:
    """The expected magnitude, in 1/16, that the bundle stores as ``code``."""
    return round(2 ** (code / _EXPECTATIONS_PER_OCTAVE))


def code_of_expected(expected: int) -> int:
    """The inverse of ``expected_of_code``."""
    return round(_EXPECTATIONS_PER_OCTAVE * float(np.log2(expected)))


def context_steps(
    group: LaneGroup, gain: int, expected: LongInts, known: Ints
) -> Iterator[tuple[int, slice | LongInts, Bytes]]:
    """Each step: its number, the lanes that have such a weight, and the contexts of these weights.

    Args:
        group: lanes and the levels of their weights.
        gain: one of GAINS.
        expected: magnitude on each level in 1/16: int64, shape (LEVELS,).
        known: magnitudes: int32, shape (lanes, length); at each step those of the steps before must be there.
    """
    all_full = bool(np.all(group.lengths == group.levels.shape[1]))
    for step in range(group.levels.shape[1]):
        active = slice(None) if all_full else np.flatnonzero(group.lengths > step)
        levels = group.levels[active, step]
        if gain and step % group.positions:
            before = slice(step - step % group.positions, step)
            neighbours = known[active, before], expected[group.levels[active, before]]
            influence = group.influence[step % group.positions, : neighbours[0].shape[1]]
            shift = _shift(gain, influence, neighbours, expected[levels])
            levels = np.clip(levels + shift, 0, LEVELS - 1).astype(np.uint8)
        yield step, active, levels


def _shift(
    gain: int, influence: LongInts, neighbours: tuple[npt.NDArray[np.integer], LongInts], own: LongInts
) -> LongInts:
    """How far levels move.

    Args:
        gain: one of GAINS, not 0.
        influence: of each neighbour, shape (neighbours,).
        neighbours: their magnitudes, and those expected on their levels in 1/16; shape (weights, neighbours) each.
        own: magnitudes expected on the weights' own levels, shape (weights,).
    """
    known, expected = neighbours
    found = 16 * (known @ influence) + _PRIOR * own
    due = expected @ influence + _PRIOR * own
    return np.searchsorted(_thresholds(gain), found * _UNIT // due, side="right") - _MAX_SHIFT


@cache
def _thresholds(gain: int) -> LongInts:
    """Ratios in 1/1024 from which on the level moves by -7, ..., 8.

    None of them is near a half, so that every machine rounds them alike.
    """
    exponents = (np.arange(1 - _MAX_SHIFT, _MAX_SHIFT + 1) - 0.5) / gain
    ratios: LongInts = np.rint(_UNIT * np.exp2(exponents)).astype(np.int64)
    return ratios
