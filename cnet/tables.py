"""Floating-point tensors that are not trained weights: masks, anchors, grids, scales, position tables, constants.

Compressing one of them ruins it, and one whose values are of another scale also ruins the weights, which share one
threshold and one codebook with it. They are therefore recognized, by their names or their values, and kept exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks
from cnet.weights import Selection, Tensor, pruning_masks

FEW_VALUES = 4
"""The most distinct values of a constant, such as a mask of 0 and 1, or a kernel that blurs."""

LEAST_ELEMENTS = 256
"""The least elements of the weights beside which the values of a tensor are judged: less tells no usual value."""

OTHER_SCALE = 50.0
"""A tensor whose root mean square is this many times that of the other weights is of another scale. Of real networks
the largest factor found is 17 (a head of MTCNN's O-Net)."""

_NAME = re.compile(
    r"(.*_)?(anchors?|anchor_(grid|points)|grids?|meshgrid|scales?|scaling_factors?|zero_?points?|masks?|inv_freq"
    r"|freqs|freqs_(cis|cos|sin)|(cos|sin)_cached|position_ids|relative_(position_index|coords_table)|(min|max)_val)",
    re.IGNORECASE,
)
_LARGEST_INFINITE_SHARE = 0.25
"""A tensor with infinite values and many others is a mask from this share of infinite values on; below it, weights of a
training that diverged."""
_SMALLEST_TABLE = 4  # rows and columns of a table of positions
_TOLERANCE = 2e-3  # of a sine, in bfloat16 too


@np.errstate(invalid="ignore")  # converting a signalling NaN sets the flag
def find_tables(tensors: Sequence[Tensor], selection: Selection | None = None) -> dict[str, str]:
    """The tensors that ``selection`` would make compressible and that are not trained weights, each with the reason.

    Every value is read, chunk by chunk. Tensors that the patterns of ``selection.include`` name are left out. Values
    are judged beside those of the other tensors: a network whose weights mostly have few values has been quantized,
    and one of a few numbers has no usual values.

    Args:
        tensors: all tensors of a network.
        selection: which of them are compressible; None: the default rule.
    """
    selection = selection or Selection()
    masks = set(pruning_masks(tensor.name for tensor in tensors))
    facts = [
        _Facts(tensor)
        for tensor in tensors
        if tensor.name not in masks
        and selection.selects(tensor.name, tensor.dtype, tensor.shape)
        and not selection.includes(tensor.name)
    ]
    reasons = {one.tensor.name: reason for one in facts if (reason := _certain_reason(one))}
    others = [one for one in facts if one.tensor.name not in reasons]
    few = [one for one in others if one.has_few_values or one.is_integral]
    if 2 * len(few) <= len(others) and _elements(others) - _elements(few) >= LEAST_ELEMENTS:
        reasons |= {one.tensor.name: _values_reason(one) for one in few}
        others = [one for one in others if one.tensor.name not in reasons]
    typical = _typical_scale(others) if _elements(others) >= LEAST_ELEMENTS else 0.0
    for one in others:
        if typical and one.scale >= OTHER_SCALE * typical:
            reasons[one.tensor.name] = f"its values are about {one.scale / typical:.0f} times as large as the weights"
    return {tensor.name: reasons[tensor.name] for tensor in tensors if tensor.name in reasons}


def without_tables(selection: Selection, tensors: Sequence[Tensor]) -> Selection:
    """``selection`` less the tensors that are not trained weights, which its own patterns may still include."""
    return replace(selection, tables=frozenset(find_tables(tensors, selection)))


def _certain_reason(one: _Facts) -> str | None:
    """Why a tensor is not a weight, judged without the other tensors; None where it may be one."""
    if _NAME.fullmatch(one.tensor.name.rpartition(".")[2]):
        return "its name is that of a table of numbers"
    if one.is_mask:
        return "it is a mask: some values are infinite, or the lowest number of its type"
    if one.is_sinusoidal:
        return "it is a table of sines and cosines of positions"
    return None


def _values_reason(one: _Facts) -> str:
    if one.has_few_values:
        return f"it has only {len(one.distinct)} distinct values"
    return "its values are all integers"


def _elements(facts: Sequence[_Facts]) -> int:
    return sum(one.tensor.size for one in facts)


def _typical_scale(facts: Sequence[_Facts]) -> float:
    """The root mean square of the tensor that has the median element, from small scales to large ones."""
    position = _elements(facts) / 2
    for one in sorted(facts, key=lambda one: one.scale):
        position -= one.tensor.size
        if position <= 0:
            return one.scale
    return 0.0


@dataclass(frozen=True, eq=False)
class _Facts:
    """What the values of a tensor say about it."""

    tensor: Tensor

    def _chunks(self) -> Iterator[npt.NDArray[np.floating]]:
        """The values in chunks of shape (n,), float32 or float64."""
        for chunk in chunks(self.tensor.data):
            values = dtypes.widen(chunk, self.tensor.dtype)
            yield values.astype(np.float64 if values.dtype == np.float64 else np.float32, copy=False)

    @property
    def scale(self) -> float:
        """Root mean square of the finite values."""
        return self.tensor.statistics.root_mean_square

    @cached_property
    def distinct(self) -> tuple[float, ...]:
        """The distinct values, at most one more than ``FEW_VALUES`` of them."""
        found: npt.NDArray[np.floating] = np.empty(0, np.float64)
        for chunk in self._chunks():
            for start in range(0, len(chunk), 4096):
                found = np.union1d(found, chunk[start : start + 4096])
                if len(found) > FEW_VALUES:
                    return tuple(found[: FEW_VALUES + 1].tolist())
        return tuple(found.tolist())

    @cached_property
    def has_few_values(self) -> bool:
        """Whether there are few distinct values for the size of the tensor. Zeros alone, and NaN, say nothing."""
        few = len(self.distinct) <= min(FEW_VALUES, self.tensor.size // 4)
        return few and any(self.distinct) and not np.isnan(self.distinct).any()

    @cached_property
    def is_integral(self) -> bool:
        """Whether every value is an integer, and one is beyond 1."""
        largest = 0.0
        for chunk in self._chunks():
            for start in range(0, len(chunk), 4096):
                part = chunk[start : start + 4096]
                if not np.all(part == np.rint(part)):
                    return False
                largest = max(largest, float(np.max(np.abs(part), initial=0.0)))
        return largest > 1 and self.tensor.size > FEW_VALUES

    @cached_property
    def is_mask(self) -> bool:
        """Whether values stand for "masked out". NaN does not, nor do single infinite values among many others."""
        statistics = self.tensor.statistics
        if statistics.nan:
            return False
        infinite, masked = statistics.infinite, statistics.infinite + statistics.lowest
        if masked == 0 or (self.tensor.dtype.startswith("float8") and infinite == 0):
            return False
        return len(self.distinct) <= FEW_VALUES or masked >= _LARGEST_INFINITE_SHARE * self.tensor.size

    @cached_property
    def is_sinusoidal(self) -> bool:
        """Whether each row holds sines and cosines of the same angles: the squares of a row sum to half its length.

        A row of zeros, for a class token, may stand among them.
        """
        columns = self.tensor.shape[-1]
        rows = self.tensor.size // columns
        if columns % 2 or columns < _SMALLEST_TABLE or rows < _SMALLEST_TABLE:
            return False
        for chunk in chunks(self.tensor.data, max(1, 2**16 // columns) * columns):
            values = dtypes.widen(chunk, self.tensor.dtype).astype(np.float64).reshape(-1, columns)
            if not np.all(np.abs(values) <= 1 + _TOLERANCE):
                return False
            halves = 2 * np.mean(np.square(values), axis=1)
            if not np.all((np.abs(halves - 1) <= _TOLERANCE) | (halves == 0)):
                return False
        return self.scale > 0
