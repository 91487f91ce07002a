"""What labels cost: bits of each magnitude in its context, as the encoder ``compact`` would spend them.

This is the public face of the encoder for quantizers that weigh bits against error. A segment's ``RateModel`` knows
the level of each weight; its ``rates`` of some magnitudes are tables of bits, made of how often each magnitude occurs
in each context. Where labels follow a trellis, ``choose_along_lanes`` arranges costs as the encoder arranges weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.context_model import (
    GAINS,
    bucket_of,
    context_steps,
    expected_magnitudes,
    lowest_of,
    place_bits,
)
from cnet.coding.compact.lanes import from_lanes, lane_groups
from cnet.coding.compact.magnitude_levels import LEVELS
from cnet.coding.compact.segment_parameters import fit_levels
from cnet.coding.primitives.parallel import parallel_map
from cnet.coding.segments import ItemT, Segment, segments_of

__all__ = ["LabelRates", "RateModel", "Segment", "choose_along_lanes", "segments_of"]

Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

_GAIN = GAINS[3]
_GRIDS = 2
_NEIGHBOUR_WEIGHT = 0.1  # how much the counts of the next contexts contribute to a context's
_OVERALL_COUNT = 20.0  # occurrences that the counts of all contexts together contribute to each context's
_LEAST_COUNT = 1e-3
_SIGN_BITS = 1.0


@dataclass(frozen=True, eq=False)
class RateModel:
    """What labels of one segment cost.

    Attributes:
        segment: the segment.
        levels: of the weights of each block: uint8, shape (weights,).
    """

    segment: Segment
    levels: Sequence[Bytes]

    @classmethod
    def fit(cls, segment: Segment, magnitudes: Ints) -> RateModel:
        """The model with the levels that suit some magnitudes best.

        Args:
            segment: which weights they are of.
            magnitudes: of the labels: int32, shape (weights,), 0 where pruned.
        """
        return cls(segment, [level.levels() for level in fit_levels(segment, magnitudes)])

    def rates(self, magnitudes: Ints, grids: Bytes, largest: int) -> LabelRates:
        """The bits of each magnitude if all weights were coded as ``magnitudes``.

        Args:
            magnitudes: of the labels: int32, shape (weights,), 0 where pruned; trellis steps where there is a trellis.
            grids: uint8, shape (weights,): which of the two grids of a trellis each weight is on; else all 0.
            largest: the largest magnitude to have a rate.
        """
        contexts = self._contexts(magnitudes)
        return LabelRates(contexts, _bits(magnitudes, contexts, grids, largest))

    def _contexts(self, magnitudes: Ints) -> Bytes:
        """The contexts that the encoder would use, apart from the grids of a trellis: uint8, shape (weights,)."""
        given = self.segment.split(magnitudes)
        expected = expected_magnitudes(self.levels, given)
        parts: list[Bytes] = [np.empty(0, np.uint8)] * len(given)
        for group in lane_groups(self.segment, self.levels, trellis_lanes=False):
            known = group.gather(given).astype(np.int32, copy=False)
            contexts = np.zeros_like(group.levels)
            for step, active, levels in context_steps(group, _GAIN, expected, known):
                contexts[active, step] = levels
            group.scatter(contexts, parts)
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class LabelRates:
    """Bits of the magnitudes 0..largest for each weight of a segment.

    Attributes:
        contexts: of the weights: uint8, shape (weights,), below LEVELS.
        bits: sign included: float32, shape (2 grids, LEVELS, largest + 1).
    """

    contexts: Bytes
    bits: npt.NDArray[np.float32]

    def of(self, magnitudes: Ints, grid: int) -> Singles:
        """The bits of one magnitude for each weight.

        Args:
            magnitudes: int32, shape (weights,).
            grid: 0, or 1 for the odd grid of a trellis.

        Returns:
            float32, shape (weights,).
        """
        found: Singles = self.bits[grid][self.contexts, magnitudes]
        return found


def choose_along_lanes(
    segment: Segment,
    costs: Sequence[Singles],
    choose: Callable[[Singles], npt.NDArray[ItemT]],
    lanes: int | None = None,
) -> npt.NDArray[ItemT]:
    """A choice for each weight that depends on the choices before it along the lanes of a trellis.

    Args:
        segment: its weights are arranged in lanes.
        costs: of each alternative, or other numbers that the choice follows from: float32, shape (weights,) each.
        choose: from costs, float32, shape (steps, lanes, alternatives), to choices of any type, shape (steps, lanes);
            costs beyond the end of a lane are 0. Called in several threads where ``lanes`` is given.
        lanes: how many lanes are chosen together, at most; None: all.

    Returns:
        of the type of the choices, shape (weights,).
    """
    nothing = [np.zeros(block.size, np.uint8) for block in segment.blocks]
    found: dict[int, npt.NDArray[ItemT]] = {}
    split = [segment.split(cost) for cost in costs]
    for group in lane_groups(segment, nothing, trellis_lanes=True):
        arranged = np.stack([group.gather(cost).T for cost in split], axis=-1).astype(np.float32, copy=False)
        bounds = range(0, arranged.shape[1], lanes or arranged.shape[1])
        parts = parallel_map(choose, (arranged[:, start : start + bounds.step] for start in bounds))
        choices = np.concatenate(list(parts), axis=1).T
        found |= dict(zip(group.blocks, from_lanes(np.ascontiguousarray(choices), group.sizes), strict=True))
    return np.concatenate([found[index] for index in range(len(nothing))])


def _bits(magnitudes: Ints, contexts: Bytes, grids: Bytes, largest: int) -> Singles:
    """Bits of each magnitude in each context: float32, shape (2 grids, LEVELS, largest + 1)."""
    buckets = int(bucket_of(np.array([largest]))[0]) + 1
    symbols = np.where(magnitudes > 0, bucket_of(np.maximum(magnitudes, 1)) + 1, 0)
    keys = (grids.astype(np.int64) * LEVELS + contexts) * (buckets + 1) + symbols
    counts = np.bincount(keys, minlength=_GRIDS * LEVELS * (buckets + 1)).reshape(_GRIDS, LEVELS, buckets + 1)
    bucket_bits = np.stack([_smoothed_bits(table.astype(np.float64)) for table in counts])
    places = _place_bits(np.bincount(magnitudes, minlength=largest + 1)[: largest + 1].astype(np.float64), buckets)
    symbol_of = np.concatenate([[0], bucket_of(np.arange(1, largest + 1)) + 1])
    return (bucket_bits[:, :, symbol_of] + places).astype(np.float32)


def _smoothed_bits(counts: Doubles) -> Doubles:
    """Bits of each symbol in each context, shape (LEVELS, symbols), as ``counts``.

    The counts of the next contexts, and of all contexts together, contribute to those of a context.
    """
    padded = np.pad(counts, ((1, 1), (0, 0)), mode="edge")
    overall = counts.sum(axis=0) + _LEAST_COUNT
    shared = _OVERALL_COUNT * overall / overall.sum()
    smooth = counts + _NEIGHBOUR_WEIGHT * (padded[:-2] + padded[2:]) + shared + _LEAST_COUNT
    bits: Doubles = -np.log2(smooth / smooth.sum(axis=1, keepdims=True))
    return bits


def _place_bits(counts: Doubles, buckets: int) -> Doubles:
    """Bits of the place of each magnitude in its bucket and of its sign, shape (largest + 1,), as ``counts``."""
    bits = np.full(len(counts), _SIGN_BITS)
    bits[0] = 0.0
    for bucket in range(buckets):
        lowest = lowest_of(bucket)
        part = slice(lowest, min(lowest + (1 << place_bits(bucket)), len(counts)))
        smooth = counts[part] + 1.0
        bits[part] += -np.log2(smooth / smooth.sum())
    return bits
