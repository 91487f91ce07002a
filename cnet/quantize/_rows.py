"""Quantizers to multiples of a step size that belongs to the network, to a layer, or to each row of a tensor.

A row holds what a tensor has for one index of its first axis: an output channel.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.coding.uniform_grid import label_integers
from cnet.parts.capabilities import Curvature
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize._scope import Layered
from cnet.reconstruction import Scales, row_sizes
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]

_MANTISSA_BITS = 8  # of a stored step size: half the bytes of a float32, within one part in 256 of the best


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of values that belong to one row each; the values of a row follow each other, no row is empty.

    Attributes:
        counts: number of values of each row: int64, shape (rows,), positive.
    """

    counts: npt.NDArray[np.int64]

    def sums(self, values: npt.NDArray[Any]) -> Doubles:
        """The sum of each row: float64, shape (rows,), from values of shape (n,)."""
        return np.add.reduceat(values, self._starts, dtype=np.float64) if len(self.counts) else np.empty(0)

    def maxima(self, values: Floats) -> Floats:
        """The largest value of each row: shape (rows,), from values of shape (n,)."""
        maxima: Floats = np.maximum.reduceat(values, self._starts) if len(self.counts) else values[:0]
        return maxima

    def repeat(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """For each value the number of its row: shape (n,), from one number a row, shape (rows,)."""
        return np.repeat(numbers, self.counts)

    @property
    def _starts(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.counts) - self.counts


class RowScoped(Layered):
    """A quantizer to non-zero multiples of a step size, which can belong to the network, the layer or the row.

    With the scope "channel" the centroids are integers, and the bundle holds a step size for each row, by which its
    centroids are multiplied (``Scales``).
    """

    scope: Literal["network", "layer", "channel"] = Field(
        default="network", description="One step for the whole net, for each layer, or for each index of a first axis."
    )

    @property
    def trains_centroids(self) -> bool:
        """Whether training may change the centroids; not integers that each row multiplies by its step size."""
        return self.scope != "channel"

    @abstractmethod
    def step_sizes(self, magnitudes: Floats, rows: RowGroups, clusters: int | None) -> Doubles:
        """The step size of each row: float64, shape (rows,), positive.

        Args:
            magnitudes: of all values, divided by the largest of their row: float32 or float64, shape (n,).
            rows: which values belong to which row.
            clusters: one of ``cluster_counts()``.
        """

    @abstractmethod
    def largest_multiple(self, clusters: int | None) -> int:
        """The largest multiple of the step size; ``clusters`` is one of ``cluster_counts()``."""

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """As ``Quantizer.symbols``.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
            SpecError: the layers have more than 65,536 centroids together.
        """
        if self.scope == "channel" and shapes:
            return self._symbols_by_row(vector, keep, clusters, shapes)
        return super().symbols(vector, keep, clusters, shapes, curvature)

    def _symbols_by_row(
        self, vector: Floats, keep: npt.NDArray[np.bool_], clusters: int | None, shapes: Sequence[tuple[int, ...]]
    ) -> Symbols:
        largest_and_rms(vector[keep])  # refuses what is not finite
        keep = keep & (vector != 0)
        sizes = row_sizes(shapes)
        multiples, steps = [np.empty(0, np.int16)], np.ones(len(sizes), vector.dtype)
        weight = row = 0
        for shape in shapes:  # one tensor at a time, to bound the memory that is used
            own = row_sizes([shape])
            part, these = slice(weight, weight + int(own.sum())), slice(row, row + len(own))
            found, steps[these] = self._quantize_tensor(vector[part], keep[part], own, clusters)
            multiples.append(found)
            weight, row = part.stop, these.stop
        labels, used = label_integers(np.concatenate(multiples))
        reconstruction = Scales(steps, sizes) if len(sizes) else None
        return Symbols(keep, labels, used.astype(vector.dtype), reconstruction)

    def _quantize_tensor(
        self, vector: Floats, keep: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64], clusters: int | None
    ) -> tuple[npt.NDArray[np.int16], Floats]:
        """The multiples of a tensor's kept weights, and the step sizes of its rows, 1 where a row keeps none.

        Args:
            vector: the tensor, shape (n,).
            keep: bool, shape (n,).
            sizes: weights of each row: int64, shape (rows,).
            clusters: one of ``cluster_counts()``.
        """
        steps = np.ones(len(sizes), vector.dtype)
        counts = keep.reshape(len(sizes), -1).sum(axis=1, dtype=np.int64) if len(sizes) else sizes
        values, rows = vector[keep], RowGroups(counts[counts > 0])
        magnitudes = np.abs(values)
        maxima = rows.maxima(magnitudes)
        best = self.step_sizes(magnitudes / rows.repeat(maxima), rows, clusters) * maxima
        largest = self.largest_multiple(clusters)
        steps[counts > 0] = _short_steps(best, largest, vector.dtype)
        multiples = np.clip(np.rint(magnitudes / rows.repeat(steps[counts > 0])), 1, largest)
        return np.where(values < 0, -multiples, multiples).astype(np.int16), steps


def _short_steps(steps: Doubles, largest: int, dtype: np.dtype[Any]) -> Floats:
    """The step sizes, shape (rows,), rounded to few bits of mantissa; ``largest`` times each is finite in ``dtype``."""
    mantissas, exponents = np.frexp(steps)
    most: Any = np.finfo(dtype).max
    limit = float(most) / largest
    nearest = np.ldexp(np.rint(mantissas * 2**_MANTISSA_BITS), exponents - _MANTISSA_BITS)
    below = np.ldexp(np.floor(mantissas * 2**_MANTISSA_BITS), exponents - _MANTISSA_BITS)
    found = np.where(nearest > limit, np.minimum(below, limit), nearest)
    least = float(np.finfo(dtype).smallest_subnormal)
    short: Floats = np.maximum(found, least).astype(dtype)
    return short
