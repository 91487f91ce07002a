"""Uniform quantization to few bits: equally spaced centroids with the step size of least squared error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet import arrays
from cnet.coding.uniform_grid import UniformGrid, label_integers, narrow_labels
from cnet.documents import Sweep
from cnet.errors import SpecError
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize._rows import RowGroups, RowScoped
from cnet.quantize.quantizer import QUANTIZERS, Codebook, Labels, ValueChunks

Bits = Annotated[int, Field(ge=1, le=8)]
Sizes = npt.NDArray[np.float64]

_BINS = 2**14  # of a histogram of all magnitudes
# Largest multiples of the step size to try, relative to the largest magnitude. Each of many rows is searched coarsely,
# then finely around the best.
_CANDIDATES = np.linspace(0.05, 1.0, 96)
_COARSE, _FINE = np.linspace(0.1, 1.0, 13), np.linspace(0.94, 1.06, 7)


@QUANTIZERS.register("uniform")
class Uniform(RowScoped):
    """Centroids -2^(bits-1) * step, ..., -step, step, ..., 2^(bits-1) * step; larger weights take the largest of them.

    Zero is not a centroid: pruned weights are zero by the mask.
    """

    name: Literal["uniform"] = "uniform"
    summary: ClassVar[str] = "Equally spaced values, up to 8 bits per weight."
    source: ClassVar[str] = "Max, Quantizing for minimum distortion, IRE Trans. Inf. Theory 6/1 (1960)"

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"bits": tuple((bits,) for bits in range(8, 0, -1))}

    bits: Sweep[Bits] = Field(default=(8,), description="Bits of a label. A list makes one point for each number.")

    def cluster_counts(self) -> tuple[int | None, ...]:
        """2^bits for each of the field ``bits``."""
        return tuple(2**bits for bits in self.bits)

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Labels by the nearest of the equally spaced centroids.

        Args:
            values: float32 or float64, shape (n,).
            clusters: number of centroids, even; None: 2^bits of the first of the field ``bits``.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        most = self.largest_multiple(clusters)
        step = _best_step(lambda: arrays.chunks(values), most)
        multiples = [np.empty(0, np.int16), *(_nearest_multiples(chunk, step, most) for chunk in arrays.chunks(values))]
        return _codebook(np.concatenate(multiples), step, values.dtype)

    @property
    def streams(self) -> bool:
        """Whether there is one step size for the whole model, which is found from a histogram."""
        return self.scope == "network"

    def fit_chunks(self, chunks: ValueChunks, clusters: int | None) -> UniformCodebook:
        """The codebook that ``quantize`` finds, of float32 values that are given chunk by chunk.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
            SpecError: ``cannot_stream``, where each layer or row has its own step size.
        """
        if not self.streams:
            detail = "quantizer 'uniform': step sizes of layers or rows need all weights in memory. Do not stream."
            raise SpecError(detail, code="cannot_stream")
        most = self.largest_multiple(clusters)
        return UniformCodebook.of(chunks, _best_step(chunks, most), most)

    def largest_multiple(self, clusters: int | None) -> int:
        """Half the number of centroids: the largest multiple of the step size."""
        return (2 ** self.bits[0] if clusters is None else clusters) // 2

    def step_sizes(self, magnitudes: npt.NDArray[np.floating], rows: RowGroups, clusters: int | None) -> Sizes:
        """The step size of least squared error of each row, shape (rows,); arguments as in ``RowScoped.step_sizes``."""
        most = self.largest_multiple(clusters)
        best, least = np.ones(len(rows.counts)), np.full(len(rows.counts), np.inf)
        for factors in (_COARSE, _FINE):
            start = best
            for factor in factors:
                steps = factor * start / most
                steps_of_values = rows.repeat(steps).astype(magnitudes.dtype)
                errors = rows.sums((magnitudes - steps_of_values * _nearest(magnitudes, steps_of_values, most)) ** 2)
                best, least = np.where(errors < least, factor * start, best), np.minimum(errors, least)
        chosen = _nearest(magnitudes, rows.repeat(best / most), most)
        return rows.sums(magnitudes * chosen) / rows.sums(chosen * chosen)


@dataclass(frozen=True, eq=False)
class UniformCodebook:
    """A codebook whose labels follow from the nearest multiple of a step size (``FittedCodebook``).

    Attributes:
        step: positive.
        most: the largest multiple.
        label_of: the label of each multiple from -most to most, uint8 or uint16, shape (2 * most + 1,).
        centroids: of the labels, shape (k,).
    """

    step: float
    most: int
    label_of: Labels
    centroids: npt.NDArray[np.floating]

    @classmethod
    def of(cls, chunks: ValueChunks, step: float, most: int) -> UniformCodebook:
        """The codebook of the multiples that are the nearest to some value."""
        found = np.zeros(2 * most + 1, np.bool_)
        for chunk in chunks():
            found[_nearest_multiples(chunk, step, most) + most] = True
        codebook = _codebook((np.flatnonzero(found) - most).astype(np.int16), step, np.dtype(np.float32))
        label_of = np.zeros(len(found), np.int64)
        if codebook.labels is not None:
            label_of[found] = codebook.labels
        return cls(step, most, narrow_labels(label_of, len(codebook.centroids)), codebook.centroids)

    def assign_labels(self, values: npt.NDArray[np.floating]) -> Labels:
        """The label of each of some values, both of shape (n,)."""
        return self.label_of[_nearest_multiples(values, self.step, self.most) + self.most]


def _nearest_multiples(values: npt.NDArray[np.floating], step: float, most: int) -> npt.NDArray[np.int16]:
    """The multiple of ``step`` nearest to each value, 1 to ``most`` in magnitude."""
    nearest = np.clip(np.rint(np.abs(values) / values.dtype.type(step)), 1, most)
    multiples: npt.NDArray[np.int16] = np.where(values < 0, -nearest, nearest).astype(np.int16)
    return multiples


def _best_step(chunks: ValueChunks, most: int) -> float:
    """The step size of least squared error; 1 where all values are 0. Raises CheckpointError (``not_finite``)."""
    largest = max((largest_and_rms(chunk)[0] for chunk in chunks()), default=0.0)
    if not largest:
        return 1.0
    counts, least = np.zeros(_BINS, np.int64), 0.0
    for chunk in chunks():
        least = float(np.finfo(chunk.dtype).smallest_subnormal)  # the step must not be rounded to 0 in this type
        counts += np.histogram(np.abs(chunk) / chunk.dtype.type(largest), _BINS, (0.0, 1.0))[0]
    return max(largest * _best_step_of_histogram(counts, most), least)


def _best_step_of_histogram(counts: npt.NDArray[np.int64], most: int) -> float:
    """The step size of least squared error, relative to the largest magnitude.

    Args:
        counts: of the magnitudes relative to the largest, in bins of equal width from 0 to 1, shape (bins,).
        most: the largest multiple.
    """
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    used = counts > 0
    centers, counts = ((edges[1:] + edges[:-1]) / 2)[used], counts[used]
    steps = _CANDIDATES / most
    errors = [float(np.sum(counts * (centers - step * _nearest(centers, step, most)) ** 2)) for step in steps]
    step = float(steps[int(np.argmin(errors))])
    chosen = _nearest(centers, step, most)
    return float(np.sum(counts * centers * chosen) / np.sum(counts * chosen * chosen))


def _nearest(
    sizes: npt.NDArray[np.floating], step: float | npt.NDArray[np.floating], most: int
) -> npt.NDArray[np.floating]:
    """The multiple of ``step`` nearest to each magnitude, 1 to ``most``; ``step``: one, or one for each magnitude."""
    return np.clip(np.rint(sizes / step), 1, most)


def _codebook(multiples: npt.NDArray[np.int16], step: float, dtype: np.dtype[Any]) -> Codebook:
    """Labels and centroids of values that become ``multiples``, shape (n,), of ``step``."""
    labels, used = label_integers(multiples)
    centroids = UniformGrid(dtype.type(step), used).centroids()
    distinct, places = np.unique(centroids, return_inverse=True)
    return Codebook(narrow_labels(places[labels], len(distinct)), distinct)
