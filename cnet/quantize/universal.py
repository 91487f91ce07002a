"""Universal quantization: a uniform lattice with a dither that encoder and decoder both know.

With the dither the error is uniform over a cell of the lattice and independent of the weight, whatever the
distribution of the weights. An adaptive encoder then comes near the best rate without knowing that distribution (Ziv,
"On universal quantization", IEEE Trans. Inf. Theory 31/3, 1985). The dither of a weight follows from its position in
w_net and a seed (``cnet.reconstruction.Dither``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.arrays import chunks
from cnet.coding.uniform_grid import UniformGrid, label_integers
from cnet.parts.capabilities import Curvature
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize.quantizer import NORMAL_BITS, QUANTIZERS, Codebook, Quantizer
from cnet.reconstruction import Dither
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Points = npt.NDArray[np.int32]

_MAX_POINT = 2**14  # lattice points on either side of 0, so that labels have 16 bits


@QUANTIZERS.register("universal")
class Universal(Quantizer):
    """Replaces each kept weight w by q - u, where u is its dither and q the lattice point nearest to w + u.

    The dither is uniform over one cell of the lattice. Which cell makes no difference; here it is the cell from 0 to
    the step size, half of which is added to the centroids, so that each centroid is the mean of the weights it stands
    for and none is 0. Without dither the lattice is the multiples of the step size, and weights next to 0 become 0 and
    are pruned. Centroids are trained and labels are encoded as those of any other quantizer: the job's encoder takes
    the place of bzip2 in the paper.
    """

    name: Literal["universal"] = "universal"
    summary: ClassVar[str] = "A uniform lattice with a dither: the error does not depend on the weights."
    source: ClassVar[str] = (
        "Choi, El-Khamy and Lee, Universal Deep Neural Network Compression (2018); "
        "Ziv, On universal quantization (1985)"
    )

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"step": tuple(0.0625 * 2 ** (i / 4) for i in range(21))}

    step: float = Field(
        default=0.25,
        ge=1e-4,
        le=100.0,
        description="Step size: distance of the lattice points, relative to the root mean square of the kept weights.",
    )
    dither: bool = Field(
        default=True, description="Whether to add a dither. Without it the error depends on the weights."
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of the dither. The bundle contains it.")

    @property
    def reported_settings(self) -> Mapping[str, float]:
        """The step."""
        return {"step": self.step}

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a label of normally distributed weights, from the step size."""
        del clusters
        return max(NORMAL_BITS - math.log2(self.step), 0.2)

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - the step size decides
        """Labels by the nearest lattice point other than 0, without dither, which needs the positions of weights.

        Args:
            values: float32 or float64, shape (n,).
            clusters: None.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        step = self._step_size(values) or 1.0
        points = _nearest_points(values, step)
        points[points == 0] = np.where(values[points == 0] < 0, -1, 1)
        return Codebook(*_codebook(points, step, values.dtype))

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,  # noqa: ARG002 - the step size decides
        shapes: Sequence[tuple[int, ...]] = (),  # noqa: ARG002 - one lattice for the whole model
        curvature: Curvature | None = None,  # noqa: ARG002 - all errors count alike
    ) -> Symbols:
        """As ``Quantizer.symbols``.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        values = vector[keep]
        step = self._step_size(values)
        if step == 0:
            return Symbols(np.zeros_like(keep), np.empty(0, np.uint8), np.empty(0, vector.dtype))
        if self.dither:
            dither = Dither(self.seed, step)
            return Symbols(keep, *_codebook(_cell_middles(values, keep, dither), step / 2, vector.dtype), dither)
        points = _nearest_points(values, step)
        kept = keep.copy()
        kept[keep] = points != 0
        return Symbols(kept, *_codebook(points[points != 0], step, vector.dtype))

    def _step_size(self, values: Floats) -> float:
        """The step size, of which half is a number of the values' type; 0 where all values are 0."""
        largest, rms = largest_and_rms(values)
        if largest == 0:
            return 0.0
        least, most = 2 * float(np.finfo(values.dtype).smallest_subnormal), _largest_number(values.dtype) / 4
        return 2 * float(values.dtype.type(min(max(self.step * rms, largest / _MAX_POINT, least), most) / 2))


def _nearest_points(values: Floats, step: float) -> Points:
    """The multiple of ``step`` nearest to each value, shape (n,)."""
    last = _last_point(step, values.dtype)
    parts = [np.clip(np.rint(chunk.astype(np.float64) / step), -last, last) for chunk in chunks(values)]
    return np.concatenate([np.empty(0, np.int32), *(part.astype(np.int32) for part in parts)])


def _cell_middles(values: Floats, keep: npt.NDArray[np.bool_], dither: Dither) -> Points:
    """The middle of the lattice cell that holds each value plus its dither, in half steps, shape (kept,).

    Args:
        values: the kept weights, shape (kept,).
        keep: the mask, bool, shape (n,).
        dither: gives the dither of each position of w_net.
    """
    last = _last_point(dither.step, values.dtype) - 1
    middles = np.empty(len(values), np.int32)
    start = position = 0
    for chunk in chunks(keep):
        positions = np.flatnonzero(chunk)
        part = slice(start, start + len(positions))
        cells = np.floor((values[part].astype(np.float64) + dither.values_at(positions + position)) / dither.step)
        middles[part] = 2 * np.clip(cells, -last - 1, last) + 1
        start, position = part.stop, position + len(chunk)
    return middles


def _largest_number(dtype: np.dtype[Any]) -> float:
    """The largest finite number of a floating-point type."""
    largest: Any = np.finfo(dtype).max
    return float(largest)


def _last_point(step: float, dtype: np.dtype[Any]) -> float:
    """The largest lattice point, in steps, for which no decoded weight is infinite."""
    return min(2.0 * _MAX_POINT, float(np.floor(_largest_number(dtype) / step * (1 - 1e-6))))


def _codebook(points: Points, unit: float, dtype: np.dtype[Any]) -> tuple[Any, Floats]:
    """Labels and centroids of values that become ``points``, shape (n,), times ``unit``."""
    labels, used = label_integers(points)
    return labels, UniformGrid(dtype.type(unit), used).centroids()
