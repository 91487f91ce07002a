"""The scale of each tensor, from one pass over its weights part by part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import slices
from cnet.errors import CheckpointError
from cnet.quantize.grid_labels import KeptWeights
from cnet.quantize.weights_alone.row_factors import RowMoments, may_differ


@dataclass(frozen=True)
class TensorScale:
    """The shape and the scale of a tensor.

    Attributes:
        shape: of the tensor.
        rms: root mean square of its kept weights that are not zero; 0 where there are none.
        largest: the largest magnitude of these.
        rows: a factor for each row, by which its weights are divided before anything else, also in ``rms`` and
            ``largest``; none where rows are about alike.
    """

    shape: tuple[int, ...]
    rms: float
    largest: float = 0.0
    rows: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)


@dataclass
class _Moments:
    """How many values are not zero, the largest magnitude, and the sum of squares relative to its square.

    That sum cannot overflow.
    """

    count: int = 0
    largest: float = 0.0
    power: float = 0.0

    def add(self, values: npt.NDArray[np.floating]) -> None:
        """Count some more values, float32 or float64, shape (n,). Raises CheckpointError (``not_finite``)."""
        largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
        if not np.isfinite(largest):
            raise CheckpointError(
                "quantize: some weights are NaN or infinite. Save the checkpoint from before the training diverged.",
                code="not_finite",
            )
        if largest > self.largest:
            self.power *= (self.largest / largest) ** 2
            self.largest = largest
        if self.largest:
            self.power += float(np.sum(np.square(values.astype(np.float64) / self.largest)))
        self.count += int(np.count_nonzero(values))

    @property
    def rms(self) -> float:
        """Root mean square of the values that are not zero; 0 where there are none."""
        return self.largest * math.sqrt(self.power / self.count) if self.count else 0.0


def measure_scales(weights: KeptWeights, shapes: Sequence[tuple[int, ...]]) -> list[TensorScale]:
    """The scales of the tensors.

    Args:
        weights: of the tensors.
        shapes: of the tensors, in the order of w_net.

    Raises:
        CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
    """
    moments = [_Moments() for _ in shapes]
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    last = len(shapes) - 1
    rows = {
        tensor: RowMoments(shape)
        for tensor, shape in enumerate(shapes)
        if math.prod(shape) and may_differ(shape, last=tensor == last)
    }
    places = list(_places(shapes))
    for (tensor, part), (mask, values) in zip(places, weights.read(part for _, part in places), strict=True):
        moments[tensor].add(values)
        if tensor in rows:
            start = ends[tensor] - math.prod(shapes[tensor])
            rows[tensor].add(np.flatnonzero(mask) + (part.start - start), values)
    found = [TensorScale(shape, each.rms, each.largest) for shape, each in zip(shapes, moments, strict=True)]
    for tensor, each in rows.items():
        if factors := each.factors(weights.dtype):
            found[tensor] = TensorScale(shapes[tensor], *each.scaled(factors), factors)
    return found


def _places(shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, slice]]:
    """Slices of w_net, none of which is part of two tensors, each with the number of its tensor."""
    start = 0
    for tensor, shape in enumerate(shapes):
        for part in slices(math.prod(shape), start=start):
            yield tensor, part
        start += math.prod(shape)
