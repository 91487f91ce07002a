"""The parameters of an adaptive segment: what an encoder chooses so that its streams are short."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.context_model import (
    BUCKET_SYMBOLS,
    GAINS,
    bucket_symbols,
    context_steps,
    expected_magnitudes,
)
from cnet.coding.compact.fit_levels import improve_levels, initial_levels
from cnet.coding.compact.lanes import Bytes, LaneGroup, LongInts, lane_groups
from cnet.coding.compact.magnitude_coder import SegmentStatistics
from cnet.coding.compact.magnitude_levels import LEVELS, MagnitudeLevels
from cnet.coding.primitives.entropy_coder import Ints
from cnet.coding.segments import Segment

_BITMAP_BYTES = 12  # what a bitmap costs beside its deflated bytes
_NEIGHBOUR_SAVING = 0.95  # neighbours reduce the bits that levels alone lead to to about this share


@dataclass(frozen=True, eq=False)
class SegmentParameters:
    """What an encoder has chosen for a segment.

    Attributes:
        levels: of each block.
        statistics: of the segment.
        bitmaps: for each block, whether its zeros are stored as a deflated bitmap.
        gains: of each group of lanes, one of ``context_model.GAINS``.
    """

    levels: list[MagnitudeLevels]
    statistics: SegmentStatistics
    bitmaps: list[bool]
    gains: list[int]


def choose_parameters(segment: Segment, magnitudes: Ints, memory: int) -> SegmentParameters:
    """Parameters that make a segment's streams short.

    Args:
        segment: what is coded.
        magnitudes: of its weights: int32, shape (weights,), 0 where pruned; trellis steps where there is a trellis.
        memory: bits of the trellis' state, or 0.
    """
    parts = segment.split(magnitudes)
    levels = fit_levels(segment, magnitudes)
    fields = [level.levels() for level in levels]
    dense = bool(np.all(magnitudes > 0))
    expected = expected_magnitudes(fields, parts)
    statistics = SegmentStatistics(int(magnitudes.max(initial=1)), dense, memory, expected)
    bitmaps = [False] * len(parts) if dense else _worth_bitmaps(fields, parts)
    flags = {index: fields[index] for index, worth in enumerate(bitmaps) if worth}
    gains = []
    for group in lane_groups(segment, fields, trellis_lanes=False, bitmaps=flags):
        given = group.gather(parts).astype(np.int32, copy=False)
        bits = [_bits_with_gain(group, gain, expected, given) for gain in GAINS]
        gains.append(GAINS[int(np.argmin(bits))])
    return SegmentParameters(levels, statistics, bitmaps, gains)


def fit_levels(segment: Segment, magnitudes: Ints) -> list[MagnitudeLevels]:
    """The levels of each block of a segment that make the code of its magnitudes short.

    Args:
        segment: what is coded.
        magnitudes: of its weights: int32, shape (weights,), 0 where pruned.
    """
    parts = segment.split(magnitudes)
    levels = initial_levels(segment.blocks, parts)
    improve_levels(segment.blocks, levels, [bucket_symbols(part) for part in parts])
    return levels


def _worth_bitmaps(levels: Sequence[Bytes], parts: Sequence[Ints]) -> list[bool]:
    """For each block, whether deflate makes its zeros smaller than levels do: where they repeat, as a formula's do."""
    counts = np.zeros(2 * LEVELS)
    for level, part in zip(levels, parts, strict=True):
        counts += np.bincount(2 * level.astype(np.int64) + (part > 0), minlength=2 * LEVELS)
    table = counts.reshape(LEVELS, 2) + 0.5
    bits: npt.NDArray[np.float64] = -np.log2(table / table.sum(1, keepdims=True))
    found = []
    for level, part in zip(levels, parts, strict=True):
        deflated = len(zlib.compress(np.packbits(part > 0).tobytes(), 9))
        modelled = _NEIGHBOUR_SAVING * float(np.sum(bits[level, np.minimum(part, 1)]))
        found.append(8 * (deflated + _BITMAP_BYTES) < modelled)
    return found


def _bits_with_gain(group: LaneGroup, gain: int, expected: LongInts, magnitudes: Ints) -> float:
    """Entropy in bits of zeros and buckets in their contexts; gains are compared by it.

    ``magnitudes`` are int32, shape (lanes, length).
    """
    counts = np.zeros(LEVELS * BUCKET_SYMBOLS, np.int64)
    for step, active, contexts in context_steps(group, gain, expected, magnitudes):
        keys = contexts.astype(np.int64) * BUCKET_SYMBOLS + bucket_symbols(magnitudes[active, step])
        counts += np.bincount(keys, minlength=len(counts))
    table = counts.reshape(LEVELS, BUCKET_SYMBOLS)
    table = table[table.sum(1) > 0]
    logarithms = np.log2(np.maximum(table, 1)) - np.log2(table.sum(1, keepdims=True))
    return float(-(table * logarithms).sum())
