"""Compressible tensors with the same values, such as an output layer that repeats the embedding, or its transpose.

Pruning breaks ties by position, and some quantizers weigh the neighbours of a weight, so that equal tensors could come
back different. The mask and the labels of the first tensor of a group are therefore those of its copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.reconstruction import AxisScales, Dither, Scales
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

_BLOCK = 2**20  # elements that are compared at once


@dataclass(frozen=True)
class EqualTensor:
    """A tensor of w_net that repeats an earlier one.

    Attributes:
        part, source: their slices of w_net.
        shape: that of the tensor, which is the shape of its source where it is not transposed.
        transposed: whether it is the transpose of its source.
    """

    part: slice
    source: slice
    shape: tuple[int, ...]
    transposed: bool

    def positions_in_source(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Positions in the source of some values of the tensor.

        Args:
            positions: indices into the tensor, flat and in C order, shape (n,).
        """
        if not self.transposed:
            return positions
        rows, columns = self.shape
        return positions % columns * rows + positions // columns

    def copied(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """The values that the tensor takes over from its source.

        Args:
            values: one for each weight of w_net, shape (n,).
        """
        found = values[self.source]
        return found.reshape(self.shape[::-1]).T.reshape(-1) if self.transposed else found


def find_equal_tensors(weights: Weights) -> tuple[EqualTensor, ...]:
    """The compressible tensors that equal an earlier one, or its transpose where both are matrices, bit for bit."""
    firsts: dict[tuple[object, ...], list[tuple[Tensor, slice]]] = {}
    copies: list[EqualTensor] = []
    for name, part in weights.slices():
        tensor = weights[name]
        flat = tensor.data.reshape(-1)
        # a transpose has the same first and last element, so that few tensors of the same size must be compared
        known = firsts.setdefault((tensor.dtype, tensor.size, flat[:1].tobytes(), flat[-1:].tobytes()), [])
        copy = next((found for one, source in known if (found := _compare(tensor, part, one, source))), None)
        if copy is None:
            known.append((tensor, part))
        else:
            copies.append(copy)
    return tuple(copies)


def copy_mask(mask: npt.NDArray[np.bool_], copies: tuple[EqualTensor, ...]) -> npt.NDArray[np.bool_]:
    """The mask of w_net, shape (n,), in which each copy has the mask of its source."""
    if not copies:
        return mask
    equal = mask.copy()
    for copy in copies:
        equal[copy.part] = copy.copied(mask)
    return equal


def copy_symbols(symbols: Symbols, copies: tuple[EqualTensor, ...]) -> Symbols:
    """The symbols of w_net in which each copy has those of its source.

    Symbols whose values depend on their positions in another way than by factors of each tensor, or of its axes, are
    returned as they are: they have a dither, or factors of rows alone.
    """
    scales = symbols.reconstruction
    if not copies or isinstance(scales, Dither) or (isinstance(scales, Scales) and not _are_of_tensors(scales, copies)):
        return symbols
    kept = symbols.centroids if symbols.labels is None else symbols.labels
    values = np.zeros(symbols.weights, kept.dtype)
    values[symbols.keep] = kept
    for copy in copies:
        values[copy.part] = copy.copied(values)
    keep = copy_mask(symbols.keep, copies)
    if symbols.labels is None:
        return replace(symbols, keep=keep, centroids=values[keep])
    used, labels = np.unique(values[keep], return_inverse=True)
    narrow = labels.astype(np.uint8) if len(used) <= 256 else labels.astype(np.uint16)
    return Symbols(keep, narrow, symbols.centroids[used], scales and copy_factors(scales, copies))


def _copy_axis_factors(scales: AxisScales, copies: tuple[EqualTensor, ...]) -> AxisScales:
    """The factors, in which each copy has those of its source: those of the other axis where it is the transpose."""
    factors = scales.factors.copy()
    for copy in copies:
        own, source = (scales.number_at(part.start) for part in (copy.part, copy.source))
        rows, columns, whole = scales.of_tensor(source)
        parts = [whole, columns, rows] if copy.transposed else [whole, rows, columns]
        taken = np.concatenate(parts if len(copy.shape) > 1 else [whole])
        start = int(scales.starts[own])
        factors[start : start + len(taken)] = taken
    return replace(scales, factors=factors)


def copy_factors(scales: Scales | AxisScales, copies: tuple[EqualTensor, ...]) -> Scales | AxisScales:
    """Factors of tensors, or of their axes, in which each copy has those of its source."""
    if isinstance(scales, AxisScales):
        return _copy_axis_factors(scales, copies)
    starts = (np.cumsum(scales.sizes) - scales.sizes).tolist()
    factors = scales.factors.copy()
    for copy in copies:
        factors[starts.index(copy.part.start)] = factors[starts.index(copy.source.start)]
    return replace(scales, factors=factors)


def _are_of_tensors(scales: Scales, copies: tuple[EqualTensor, ...]) -> bool:
    """Whether each copy has one factor, and not one for each of its rows."""
    starts = np.cumsum(scales.sizes) - scales.sizes
    sizes = dict(zip(starts.tolist(), scales.sizes.tolist(), strict=True))
    return all(sizes.get(copy.part.start) == copy.part.stop - copy.part.start for copy in copies)


def _compare(tensor: Tensor, part: slice, other: Tensor, source: slice) -> EqualTensor | None:
    if tensor.shape == other.shape and _same_bits(tensor.data, other.data):
        return EqualTensor(part, source, tensor.shape, transposed=False)
    if len(tensor.shape) == 2 and tensor.shape == other.shape[::-1] and _same_bits(tensor.data, other.data.T):
        return EqualTensor(part, source, tensor.shape, transposed=True)
    return None


def _same_bits(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    """Whether two arrays of one shape, of one dimension or more, have the same bits."""
    return all(np.array_equal(_bits(one[rows]), _bits(other[rows])) for rows in _row_blocks(len(one), one[:1].size))


def _row_blocks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(columns, 1))
    return (slice(start, start + step) for start in range(0, rows, step))


def _bits(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
