"""Labels of one tensor with error feedback: a trellis, the bits that the encoder spends, and errors that cancel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.rates import RateModel, Segment, choose_along_lanes, segments_of
from cnet.quantize.weights_alone.error_feedback import FeedbackFactors
from cnet.quantize.weights_alone.feedback_trellis import MAX_STEP, FeedbackTrellis, LaneWeights

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

_HIGH_RATE = 4 * np.log(2) / 6  # -d(error^2) / d(bits) of a grid of step 2 at many bits
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

    def multiples(self, shape: tuple[int, ...], values: Singles, keep: npt.NDArray[np.bool_]) -> Ints:
        """The multiples of the unit that weights become: int32, shape (weights,), 0 where not kept.

        Args:
            shape: of the tensor.
            values: its weights in units of half the distance between the points of a grid: float32, shape (weights,).
            keep: which of them may be non-zero: bool, shape (weights,).
        """
        found = np.zeros(len(values), np.int32)
        for segment in segments_of([shape]):
            part = segment.place
            factors = FeedbackFactors.of(segment, feedback=len(shape) > 1)
            found[part] = self._of_segment(segment, values[part], keep[part], factors)
        return found

    def _of_segment(
        self, segment: Segment, values: Singles, keep: npt.NDArray[np.bool_], factors: FeedbackFactors
    ) -> npt.NDArray[np.int16]:
        largest = min(MAX_STEP, int(np.max(np.abs(values), initial=0.0)) // 2 + 2)
        contexts = np.zeros(len(values), np.uint8)
        trellis = FeedbackTrellis(self.memory, np.float32(0), np.zeros((2, 1, largest + 1), np.float32))
        if self.mu:
            first = FeedbackTrellis(_QUICK_MEMORY, trellis.price, trellis.bits)
            chosen, grids = _along_lanes(segment, values, keep, contexts, factors, first)
            steps = ((np.abs(chosen).astype(np.int32) + grids * (chosen != 0)) // 2).astype(np.int32)
            rates = RateModel.fit(segment, steps).rates(steps, grids, largest)
            price = np.float32(self.mu * _HIGH_RATE * np.exp(np.mean(np.log(factors.harm))))
            contexts, trellis = rates.contexts, FeedbackTrellis(self.memory, price, rates.bits)
        return _along_lanes(segment, values, keep, contexts, factors, trellis)[0]


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
