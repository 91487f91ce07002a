"""Labels of one tensor with error feedback: a trellis, the bits that the encoder spends, and errors that cancel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.rates import LabelRates, RateModel, Segment, choose_along_lanes, segments_of
from cnet.quantize.grid_labels import KeptWeights
from cnet.quantize.weights_alone.error_feedback import FeedbackFactors
from cnet.quantize.weights_alone.feedback_trellis import MAX_STEP, FeedbackTrellis, LaneWeights
from cnet.quantize.weights_alone.row_factors import few_bits, row_factors_at
from cnet.quantize.weights_alone.tensor_scales import TensorScale

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

COARSE = 1.5
"""Step size in root mean squares of a tensor beyond which errors are not fed back: most weights become zero there, and
a few would have to become larger to make up for the sum of all others."""

HIGH_RATE = 4 * np.log(2) / 6
"""Fall of the squared error for a bit more at many bits a weight, on a grid of step 2."""

STRETCH = 0.5
"""Exponent of the factor (w w / w q)^STRETCH, of inner products, that multiplies a tensor's quantized weights q. With 1
their part along the weights w would be as large as w again, and their noise larger; with 0 outputs shrink layer
by layer, since in coarse steps most weights become zero."""

_LANES = 1024  # that are searched together: few enough for the processor's caches
_QUICK_MEMORY = 2


@dataclass(frozen=True)
class FeedbackChooser:
    """Chooses the grid points of a tensor's weights.

    Attributes:
        memory: bits of the trellis' state.
        mu: price of a bit; 1 is the slope of squared error against bits at many bits a weight.
    """

    memory: int
    mu: float

    def multiples_in_order(
        self, weights: KeptWeights, scales: Sequence[TensorScale], units: npt.NDArray[np.floating]
    ) -> Iterator[Shorts]:
        """The multiples of the unit of their tensor, or row, that weights become, part by part in the order of w_net.

        After the last part, the unit of each tensor is made larger by what choosing its labels took from its weights.

        Args:
            weights: to be quantized.
            scales: of the tensors, in the order of w_net, none of them empty.
            units: half the distance between the points of each tensor's grid: shape (tensors,); changed at the end.
        """
        power, projection = np.zeros(len(scales)), np.zeros(len(scales))
        tensors = [(tensor, segment) for tensor, scale in enumerate(scales) for segment in segments_of([scale.shape])]
        ends = itertools.accumulate(segment.size for _, segment in tensors)
        places = (slice(end - segment.size, end) for end, (_, segment) in zip(ends, tensors, strict=True))
        for (tensor, segment), (mask, kept) in zip(tensors, weights.read(places), strict=True):
            keep = mask.copy()
            keep[mask] = kept != 0
            values = np.zeros(len(keep), np.float32)
            scale = scales[tensor]
            if scale.rows:
                indexes = np.flatnonzero(mask) + segment.place.start
                kept = kept / row_factors_at(scale.rows, scale.shape, indexes)
            values[mask] = kept / units[tensor]
            feedback = len(scale.shape) > 1 and 2 * float(units[tensor]) <= COARSE * scale.rms
            chosen = self.multiples(segment, values, keep, feedback=feedback)
            power[tensor] += np.sum(values * values, dtype=np.float64)
            projection[tensor] += np.sum(values * chosen, dtype=np.float64)
            yield chosen
        for tensor in np.flatnonzero(projection > 0).tolist():
            units[tensor] = few_bits(float(units[tensor]) * (power[tensor] / projection[tensor]) ** STRETCH)

    def multiples(self, segment: Segment, values: Singles, keep: Bools, *, feedback: bool = True) -> Shorts:
        """The multiples of the unit that the weights of one segment become: int16, shape (weights,), 0 where not kept.

        Args:
            segment: the segment.
            values: its weights in units of half the distance between the points of a grid: float32, shape (weights,).
            keep: which of them may be non-zero: bool, shape (weights,).
            feedback: whether weights share inputs, so that their errors should cancel.
        """
        if not keep.any():
            return np.zeros(len(keep), np.int16)
        factors = FeedbackFactors.of(segment, feedback=feedback)
        largest = _largest(values)
        contexts = np.zeros(len(values), np.uint8)
        trellis = FeedbackTrellis(self.memory, np.float32(0), np.zeros((2, 1, largest + 1), np.float32))
        if self.mu:
            rates = _rates(segment, values, keep, factors, largest)
            price = np.float32(self.mu * HIGH_RATE * np.exp(np.mean(np.log(factors.harm))))
            contexts, trellis = rates.contexts, FeedbackTrellis(self.memory, price, rates.bits)
        return _along_lanes(segment, values, keep, contexts, factors, trellis)[0]


@dataclass(frozen=True, eq=False)
class LabelBits:
    """Bits of each label, the k of a trellis, in the context of each weight of a tensor.

    Attributes:
        contexts: of each weight: int64, shape (weights,).
        table: float32, shape (2 grids, contexts, labels).
    """

    contexts: npt.NDArray[np.int64]
    table: Singles

    @classmethod
    def of(cls, shape: tuple[int, ...], values: Singles, keep: Bools) -> LabelBits:
        """The bits if each weight were rounded along a trellis by itself.

        Args:
            shape: of the tensor.
            values: its weights in units of half the distance between the points of a grid: float32, shape (weights,).
            keep: which of them may be non-zero: bool, shape (weights,).
        """
        largest, contexts, tables, first = _largest(values), [], [], 0
        for segment in segments_of([shape]):
            factors = FeedbackFactors.of(segment, feedback=False)
            rates = _rates(segment, values[segment.place], keep[segment.place], factors, largest)
            contexts.append(rates.contexts.astype(np.int64) + first)
            tables.append(rates.bits)
            first += rates.bits.shape[1]
        return cls(np.concatenate(contexts), np.concatenate(tables, axis=1))

    @classmethod
    def none(cls, values: Singles) -> LabelBits:
        """The bits where they do not count: none, of as many labels; ``values`` as in ``of``."""
        return cls(np.zeros(len(values), np.int64), np.zeros((2, 1, _largest(values) + 1), np.float32))


def _largest(values: Singles) -> int:
    """The largest k that a weight may become."""
    return min(MAX_STEP, int(np.max(np.abs(values), initial=0.0)) // 2 + 2)


def _rates(segment: Segment, values: Singles, keep: Bools, factors: FeedbackFactors, largest: int) -> LabelRates:
    """The bits of the labels after a quick search without them."""
    nothing = FeedbackTrellis(_QUICK_MEMORY, np.float32(0), np.zeros((2, 1, largest + 1), np.float32))
    chosen, grids = _along_lanes(segment, values, keep, np.zeros(len(values), np.uint8), factors, nothing)
    steps = ((np.abs(chosen).astype(np.int32) + grids * (chosen != 0)) // 2).astype(np.int32)
    return RateModel.fit(segment, steps).rates(steps, grids, largest)


def _along_lanes(
    segment: Segment,
    values: Singles,
    keep: npt.NDArray[np.bool_],
    contexts: npt.NDArray[np.uint8],
    factors: FeedbackFactors,
    trellis: FeedbackTrellis,
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint8]]:
    """The multiple and the grid of each weight of a segment, shape (weights,)."""
    numbers = [values, keep, contexts, factors.kernel, factors.row, factors.harm, factors.starts_kernel]
    columns = [column.astype(np.float32, copy=False) for column in (*numbers, factors.starts_row)]
    packed = choose_along_lanes(segment, columns, lambda lanes: _packed(trellis, lanes), _LANES)
    return (packed >> 1).astype(np.int16), (packed & 1).astype(np.uint8)


def _packed(trellis: FeedbackTrellis, columns: Singles) -> Ints:
    """2 * multiple + grid of lanes, int32, shape (steps, lanes), from all that is known of each weight."""
    values, keep, contexts, kernel, row, harm, starts_kernel, starts_row = np.moveaxis(columns, -1, 0)
    weights = LaneWeights(
        np.ascontiguousarray(values), keep > 0, contexts.astype(np.uint8), kernel, row, harm,
        starts_kernel > 0, starts_row > 0,
    )  # fmt: skip
    multiples, grids = trellis.multiples(weights)
    return 2 * multiples.astype(np.int32) + grids
