"""Universal quantization: a uniform lattice behind a dither that writer and reader both know.

With the dither the error is uniform over a cell of the lattice and independent of the weight, whatever the weights are
like; a coder that learns as it goes then comes near the best rate without knowing them either (Ziv, "On universal
quantization", IEEE Trans. Inf. Theory 31/3, 1985). The dither of a weight follows from its place and a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.arrays import chunks
from cnet.coding.compact.values import Grid, numbered
from cnet.quantize._base import NORMAL_BITS, QUANTIZERS, Codebook, Curvature, Quantizer
from cnet.quantize._sizes import magnitudes
from cnet.reconstruction import Dither
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]

_MOST = 2**14  # points on either side of 0: labels of 16 bits


@QUANTIZERS.register("universal")
class Universal(Quantizer):
    """Each kept weight w becomes q - u: u its dither, uniform over a cell, q the lattice's nearest point to w + u.

    A cell is as good as any other for the dither. Here it is the one from 0 to the step, of which half a step is
    counted to the centroids, so that each is the mean of what it stands for, and none is 0. Without dither the
    lattice is the multiples of the step, and weights next to 0 become 0 and are pruned. Centroids are trained, and
    labels coded, as those of any other quantizer: where the paper has bzip2, the job's encoder is used.
    """

    name: Literal["universal"] = "universal"
    summary: ClassVar[str] = "A uniform lattice behind a dither: an error that does not depend on the weights."
    source: ClassVar[str] = (
        "Choi, El-Khamy and Lee, Universal Deep Neural Network Compression (2018); "
        "Ziv, On universal quantization (1985)"
    )

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"step": tuple(0.0625 * 2 ** (i / 4) for i in range(21))}

    step: float = Field(
        default=0.25,
        ge=1e-4,
        le=100.0,
        description="Distance of the lattice's points, in root mean squares of the kept weights.",
    )
    dither: bool = Field(default=True, description="False: the lattice alone, whose error depends on the weights.")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Of the dither; the file holds it.")

    @property
    def reported_settings(self) -> Mapping[str, float]:
        """The step."""
        return {"step": self.step}

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a normal distribution on the lattice."""
        del clusters
        return max(NORMAL_BITS - math.log2(self.step), 0.2)

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - the contract's
        """Labels and centroids of ``values`` without their places: the lattice's nearest point that is not 0."""
        step = self._step(values) or 1.0
        points = _nearest(values, step)
        points[points == 0] = np.where(values[points == 0] < 0, -1, 1)
        return Codebook(*_codebook(points, step, values.dtype))

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,  # noqa: ARG002 - the contract's
        shapes: Sequence[tuple[int, ...]] = (),  # noqa: ARG002 - one lattice for the whole net
        curvature: Curvature | None = None,  # noqa: ARG002 - all errors count alike
    ) -> Symbols:
        """The symbols of w_net.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        values = vector[keep]
        step = self._step(values)
        if step == 0:
            return Symbols(np.zeros_like(keep), np.empty(0, np.uint8), np.empty(0, vector.dtype))
        if self.dither:
            dither = Dither(self.seed, step)
            return Symbols(keep, *_codebook(_middles(values, keep, dither), step / 2, vector.dtype), dither)
        points = _nearest(values, step)
        kept = keep.copy()
        kept[keep] = points != 0
        return Symbols(kept, *_codebook(points[points != 0], step, vector.dtype))

    def _step(self, values: Floats) -> float:
        """Twice a number that the values' type holds; 0 where all values are 0."""
        top, rms = magnitudes(values)
        if top == 0:
            return 0.0
        least, most = 2 * float(np.finfo(values.dtype).smallest_subnormal), _largest(values.dtype) / 4
        return 2 * float(values.dtype.type(min(max(self.step * rms, top / _MOST, least), most) / 2))


def _nearest(values: Floats, step: float) -> npt.NDArray[np.int32]:
    """The nearest multiples of the step."""
    last = _room(step, values.dtype)
    parts = [np.clip(np.rint(part.astype(np.float64) / step), -last, last) for part in chunks(values)]
    return np.concatenate([np.empty(0, np.int32), *(part.astype(np.int32) for part in parts)])


def _middles(values: Floats, keep: npt.NDArray[np.bool_], dither: Dither) -> npt.NDArray[np.int32]:
    """The middle, in half steps, of the cell in which each weight is with its dither added."""
    last = _room(dither.step, values.dtype) - 1
    middles = np.empty(len(values), np.int32)
    start = weight = 0
    for part in chunks(keep):
        places = np.flatnonzero(part)
        these = slice(start, start + len(places))
        cells = np.floor((values[these].astype(np.float64) + dither.numbers(places + weight)) / dither.step)
        middles[these] = 2 * np.clip(cells, -last - 1, last) + 1
        start, weight = these.stop, weight + len(part)
    return middles


def _largest(dtype: np.dtype[Any]) -> float:
    largest: Any = np.finfo(dtype).max
    return float(largest)


def _room(step: float, dtype: np.dtype[Any]) -> float:
    """How many steps from 0 the lattice's last point is: no decoded weight may be infinite."""
    return min(2.0 * _MOST, float(np.floor(_largest(dtype) / step * (1 - 1e-6))))


def _codebook(points: npt.NDArray[np.int32], unit: float, dtype: np.dtype[Any]) -> tuple[Any, Floats]:
    """Labels and centroids of whole multiples of ``unit``."""
    labels, used = numbered(points)
    return labels, Grid(dtype.type(unit), used).centroids()
