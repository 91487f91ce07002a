"""Uniform quantization of few bits: equally spaced values, the step of least error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.arrays import chunks
from cnet.coding.compact.values import Grid, numbered, typed
from cnet.documents import Sweep
from cnet.errors import SpecError
from cnet.quantize._base import QUANTIZERS, Codebook, Parts
from cnet.quantize._rows import Rows, RowScoped
from cnet.quantize._sizes import magnitudes

Bits = Annotated[int, Field(ge=1, le=8)]
Sizes = npt.NDArray[np.float64]

_BINS = 2**14
_CANDIDATES = np.linspace(0.05, 1.0, 96)
_COARSE, _FINE = np.linspace(0.1, 1.0, 13), np.linspace(0.94, 1.06, 7)  # the same for each of many rows


@QUANTIZERS.register("uniform")
class Uniform(RowScoped):
    """Values -2^(bits-1) * step, ..., -step, step, ..., 2^(bits-1) * step; larger weights become the largest of these.

    Zero is not among them: pruned weights are zero by the mask.
    """

    name: Literal["uniform"] = "uniform"
    summary: ClassVar[str] = "Equally spaced values, up to 8 bits a weight."
    source: ClassVar[str] = "Max, Quantizing for minimum distortion, IRE Trans. Inf. Theory 6/1 (1960)"

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"bits": tuple((bits,) for bits in range(8, 0, -1))}

    bits: Sweep[Bits] = Field(default=(8,), description="Bits of a label; a list makes one point each.")

    def levels(self) -> tuple[int | None, ...]:
        """The numbers of values that the job asks for."""
        return tuple(2**bits for bits in self.bits)

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """The nearest of the equally spaced values.

        Args:
            values: shape (kept,), float32 or float64.
            clusters: how many values, an even number; None is 2^bits of the first of ``self.bits``.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        most = self.most(clusters)
        step = _step(lambda: chunks(values), most)
        multiples = [np.empty(0, np.int16), *(_multiples(part, step, most) for part in chunks(values))]
        return _codebook(np.concatenate(multiples), step, values.dtype)

    @property
    def streams(self) -> bool:
        """One step for the whole net is found from a histogram."""
        return self.scope == "network"

    def fitted(self, parts: Parts, clusters: int | None) -> Steps:
        """The same values for float32 ones that are given part by part.

        Raises:
            CheckpointError: ``not_finite``.
            SpecError: each layer or row has a step of its own, which needs all values at once.
        """
        if not self.streams:
            raise SpecError("steps of layers or rows need all weights in memory: do not stream", code="cannot_stream")
        most = self.most(clusters)
        return Steps.of(parts, _step(parts, most), most)

    def most(self, clusters: int | None) -> int:
        """Half the number of values."""
        return (2 ** self.bits[0] if clusters is None else clusters) // 2

    def steps(self, sizes: npt.NDArray[np.floating], rows: Rows, clusters: int | None) -> Sizes:
        """The step of each row whose multiples are nearest to its sizes on the whole."""
        most = self.most(clusters)
        best, least = np.ones(len(rows.counts)), np.full(len(rows.counts), np.inf)
        for factors in (_COARSE, _FINE):
            start = best
            for factor in factors:
                steps = factor * start / most
                spread = rows.spread(steps).astype(sizes.dtype)
                errors = rows.sums((sizes - spread * _nearest(sizes, spread, most)) ** 2)
                best, least = np.where(errors < least, factor * start, best), np.minimum(errors, least)
        chosen = _nearest(sizes, rows.spread(best / most), most)
        return rows.sums(sizes * chosen) / rows.sums(chosen * chosen)


@dataclass(frozen=True, eq=False)
class Steps:
    """Labels by the nearest multiple of a step.

    Attributes:
        step: positive.
        most: the largest multiple.
        numbers: the label of each multiple from -most to most.
        centroids: of the labels.
    """

    step: float
    most: int
    numbers: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    centroids: npt.NDArray[np.floating]

    @classmethod
    def of(cls, parts: Parts, step: float, most: int) -> Steps:
        """The multiples that occur."""
        found = np.zeros(2 * most + 1, np.bool_)
        for part in parts():
            found[_multiples(part, step, most) + most] = True
        codebook = _codebook((np.flatnonzero(found) - most).astype(np.int16), step, np.dtype(np.float32))
        numbers = np.zeros(len(found), np.int64)
        if codebook.labels is not None:
            numbers[found] = codebook.labels
        return cls(step, most, typed(numbers, len(codebook.centroids)), codebook.centroids)

    def labels(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
        """The labels of some values."""
        return self.numbers[_multiples(values, self.step, self.most) + self.most]


def _multiples(values: npt.NDArray[np.floating], step: float, most: int) -> npt.NDArray[np.int16]:
    """The nearest multiples, none 0, of steps of one size."""
    nearest = np.clip(np.rint(np.abs(values) / values.dtype.type(step)), 1, most)
    multiples: npt.NDArray[np.int16] = np.where(values < 0, -nearest, nearest).astype(np.int16)
    return multiples


def _step(parts: Parts, most: int) -> float:
    """The step of least error; 1 where all values are 0. Raises CheckpointError (``not_finite``)."""
    top = max((magnitudes(part)[0] for part in parts()), default=0.0)
    if not top:
        return 1.0
    counts, least = np.zeros(_BINS, np.int64), 0.0
    for part in parts():
        least = float(np.finfo(part.dtype).smallest_subnormal)  # the step is to be no 0 of this type
        counts += np.histogram(np.abs(part) / part.dtype.type(top), _BINS, (0.0, 1.0))[0]
    return max(top * _best_step(counts, most), least)


def _best_step(counts: npt.NDArray[np.int64], most: int) -> float:
    """The step, as a part of the largest size 1, whose multiples 1..most are nearest to the sizes on the whole.

    Args:
        counts: of the sizes, in bins of equal width from 0 to 1.
        most: the largest multiple.
    """
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    used = counts > 0
    middles, counts = ((edges[1:] + edges[:-1]) / 2)[used], counts[used]
    steps = _CANDIDATES / most
    errors = [float(np.sum(counts * (middles - step * _nearest(middles, step, most)) ** 2)) for step in steps]
    step = float(steps[int(np.argmin(errors))])
    chosen = _nearest(middles, step, most)
    return float(np.sum(counts * middles * chosen) / np.sum(counts * chosen * chosen))


def _nearest(
    sizes: npt.NDArray[np.floating], step: float | npt.NDArray[np.floating], most: int
) -> npt.NDArray[np.floating]:
    return np.clip(np.rint(sizes / step), 1, most)


def _codebook(multiples: npt.NDArray[np.int16], step: float, dtype: np.dtype[Any]) -> Codebook:
    labels, used = numbered(multiples)
    centroids = Grid(dtype.type(step), used).centroids()
    distinct, places = np.unique(centroids, return_inverse=True)
    return Codebook(typed(places[labels], len(distinct)), distinct)
