"""Entropy-constrained quantization: a uniform grid, and labels that are cheap to code as well as near.

Where labels are entropy-coded, a uniform grid beats the centroids of k-means at equal error (Gish and Pierce,
"Asymptotically efficient quantizing", IEEE Trans. Inf. Theory 14/5, 1968). Each weight takes the grid point of least
(error^2 + mu * bits), bits being those of the compact encoder's tables in the weight's own context, so that the zone
around 0 is wide where zeros are cheap. With a trellis (``cnet.trellis``) weights take points of two interleaved grids
in turns, which saves another tenth of a bit a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.encode._layout import segments
from cnet.errors import CheckpointError
from cnet.quantize._base import QUANTIZERS, Codebook, Quantizer
from cnet.quantize._choice import MOST, Chooser
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]

_MEMORY = {1: 0, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6, 128: 7}


@QUANTIZERS.register("ecsq")
class Ecsq(Quantizer):
    """One uniform grid for the whole net, labels chosen by error and by what they cost in the file.

    Made for the encoder ``compact``, which knows the trellis; with others use ``states`` 1. Weights that cost more
    than they are worth become zero, so that the sparsity can be higher than the pruner's.
    """

    name: Literal["ecsq"] = "ecsq"
    summary: ClassVar[str] = "Uniform grid, each label chosen by its error and by its bits: the smallest file."
    source: ClassVar[str] = "Gish and Pierce (1968); Marcellin and Fischer (1990)"

    step: float = Field(
        default=0.25,
        ge=1e-4,
        le=100.0,
        description="Distance of the points a weight can choose from, in root mean squares of the kept weights.",
    )
    mu: float = Field(default=0.5, ge=0.0, le=100.0, description="Price of a bit; 0: the nearest point, always.")
    states: Literal[1, 4, 8, 16, 32, 64, 128] = Field(
        default=32, description="States of the trellis: more cost time and save bytes; 1 is none."
    )

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:
        """Labels and centroids of ``values`` as one row; none becomes zero."""
        raise CheckpointError("the quantizer ecsq needs to know where the weights lie")

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,  # noqa: ARG002 - the contract's
        shapes: Sequence[tuple[int, ...]] = (),
    ) -> Symbols:
        """The symbols of w_net.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        dtype = np.dtype(np.float64 if vector.dtype == np.float64 else np.float32)
        top, rms = _scale(vector[keep])
        unit = dtype.type(max(self.step * rms, top / MOST) / 2)
        if unit == 0 or not np.isfinite(unit):
            return _symbols(np.zeros(len(vector), np.int32), dtype.type(1))
        parts = segments(list(shapes) or [(len(vector),)])
        multiples = np.zeros(len(vector), np.int32)
        chooser = Chooser(_MEMORY[self.states], self.mu)
        largest = max(1, int(min(top / float(unit) / 2 + 1, float(np.finfo(dtype).max) / 4 / float(unit), MOST)))
        for pieces in parts:
            part = slice(pieces[0].start, pieces[-1].start + pieces[-1].size)
            sizes = np.abs(vector[part] / unit).astype(np.float32)
            sizes[~keep[part]] = 0
            multiples[part] = chooser.multiples(pieces, sizes, keep[part], largest)
        multiples[vector < 0] *= -1
        return _symbols(multiples, _refined(vector, multiples, unit))


def _scale(values: Floats) -> tuple[float, float]:
    """The largest magnitude and the root mean square."""
    top = float(np.max(np.abs(values), initial=0.0))
    if not np.isfinite(top):
        raise CheckpointError("weights that are NaN or infinite cannot be quantized", code="not_finite")
    if top == 0:
        return 0.0, 0.0
    return top, top * float(np.sqrt(np.mean(np.square(values / values.dtype.type(top), dtype=np.float64))))


def _refined(vector: Floats, multiples: npt.NDArray[np.int32], unit: np.floating) -> np.floating:
    """The step of least squared error for these multiples, of the type of ``unit``."""
    wide = vector / unit
    power = float(np.sum(np.square(multiples, dtype=np.float64)))
    moment = float(np.sum(wide * multiples, dtype=np.float64))
    return type(unit)(unit * (moment / power)) if power > 0 and moment > 0 else unit


def _symbols(multiples: npt.NDArray[np.int32], unit: np.floating) -> Symbols:
    keep = multiples != 0
    kept = multiples[keep]
    used, labels = np.unique(kept, return_inverse=True)
    kind = np.uint8 if len(used) <= 256 else np.uint16
    return Symbols(keep, labels.astype(kind), used.astype(unit.dtype) * unit)
