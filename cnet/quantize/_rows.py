"""A scale for each row (each index of a tensor's first axis: an output channel), and one short codebook for all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.capabilities import Curvature
from cnet.coding.uniform_grid import label_integers
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize._scope import Layered
from cnet.reconstruction import Scales, rows_of
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]

_BITS = 8  # of a scale's mantissa: half the bytes of a float32, and no farther from the best than a part in 256


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are not empty, in the order of their values, which lie side by side.

    Attributes:
        counts: int64, shape (rows,), positive: values of each.
    """

    counts: npt.NDArray[np.int64]

    def sums(self, values: npt.NDArray[Any]) -> Doubles:
        """The sum of each row, in float64."""
        return np.add.reduceat(values, self._starts, dtype=np.float64) if len(self.counts) else np.empty(0)

    def tops(self, sizes: Floats) -> Floats:
        """The largest of each row."""
        tops: Floats = np.maximum.reduceat(sizes, self._starts) if len(self.counts) else sizes[:0]
        return tops

    def spread(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A number of each row for each of its values."""
        return np.repeat(numbers, self.counts)

    @property
    def _starts(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.counts) - self.counts


class RowScoped(Layered):
    """A quantizer to multiples of a step, none of them 0, whose step can be that of the net, the layer or the row.

    With the scope "channel" the centroids are whole numbers and the file holds a factor for each row.
    """

    scope: Literal["network", "layer", "channel"] = Field(
        default="network", description="One step for the whole net, for each layer, or for each index of a first axis."
    )

    @property
    def trains_centroids(self) -> bool:
        """Whether they are shared values; whole numbers that every row scales are not."""
        return self.scope != "channel"

    @abstractmethod
    def steps(self, sizes: Floats, rows: Rows, clusters: int | None) -> Doubles:
        """The step of each row: positive.

        Args:
            sizes: of all values, relative to the largest of their row.
            rows: whose they are.
            clusters: one of ``cluster_counts()``.
        """

    @abstractmethod
    def most(self, clusters: int | None) -> int:
        """The largest multiple."""

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """The symbols of w_net.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
            SpecError: the layers have more than 65,536 centroids together.
        """
        if self.scope == "channel" and shapes:
            return self._by_row(vector, keep, clusters, shapes)
        return super().symbols(vector, keep, clusters, shapes, curvature)

    def _by_row(
        self, vector: Floats, keep: npt.NDArray[np.bool_], clusters: int | None, shapes: Sequence[tuple[int, ...]]
    ) -> Symbols:
        largest_and_rms(vector[keep])
        keep = keep & (vector != 0)
        sizes = rows_of(shapes)
        multiples, factors = [np.empty(0, np.int16)], np.ones(len(sizes), vector.dtype)
        weight = row = 0
        for shape in shapes:  # tensor by tensor, for the sake of memory
            own = rows_of([shape])
            part, these = slice(weight, weight + int(own.sum())), slice(row, row + len(own))
            found, factors[these] = self._scaled(vector[part], keep[part], own, clusters)
            multiples.append(found)
            weight, row = part.stop, these.stop
        labels, used = label_integers(np.concatenate(multiples))
        local = Scales(factors, sizes) if len(sizes) else None
        return Symbols(keep, labels, used.astype(vector.dtype), local)

    def _scaled(
        self, vector: Floats, keep: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64], clusters: int | None
    ) -> tuple[npt.NDArray[np.int16], Floats]:
        """The multiples of one tensor's kept weights, and the factors of all its rows, 1 where a row is empty."""
        factors = np.ones(len(sizes), vector.dtype)
        counts = keep.reshape(len(sizes), -1).sum(axis=1, dtype=np.int64) if len(sizes) else sizes
        values, rows = vector[keep], Rows(counts[counts > 0])
        absolute = np.abs(values)
        tops = rows.tops(absolute)
        steps = self.steps(absolute / rows.spread(tops), rows, clusters) * tops
        factors[counts > 0] = _short(steps, self.most(clusters), vector.dtype)
        multiples = np.clip(np.rint(absolute / rows.spread(factors[counts > 0])), 1, self.most(clusters))
        return np.where(values < 0, -multiples, multiples).astype(np.int16), factors


def _short(steps: Doubles, most: int, dtype: np.dtype[Any]) -> Floats:
    """The steps with few bits of mantissa, positive, ``most`` of each a finite number of the type."""
    mantissas, exponents = np.frexp(steps)
    largest: Any = np.finfo(dtype).max
    nearest = np.ldexp(np.rint(mantissas * 2**_BITS), exponents - _BITS)
    below = np.ldexp(np.floor(mantissas * 2**_BITS), exponents - _BITS)
    found = np.where(nearest > float(largest) / most, np.minimum(below, float(largest) / most), nearest)
    least = float(np.finfo(dtype).smallest_subnormal)
    short: Floats = np.maximum(found, least).astype(dtype)
    return short
