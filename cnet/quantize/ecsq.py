"""Entropy-constrained quantization: a uniform grid, and labels that are cheap to code as well as near.

Where labels are entropy-coded, a uniform grid beats the centroids of k-means at equal error (Gish and Pierce,
"Asymptotically efficient quantizing", IEEE Trans. Inf. Theory 14/5, 1968). Each weight takes the grid point of least
(error^2 + mu * bits), bits being those of the compact encoder's tables in the weight's own context, so that the zone
around 0 is wide where zeros are cheap. With a trellis (``cnet.trellis``) weights take points of two interleaved grids
in turns, which saves another tenth of a bit a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.encode._layout import segments
from cnet.encode._values import Grid, numbered
from cnet.quantize._base import QUANTIZERS, Codebook
from cnet.quantize._choice import MOST, Chooser
from cnet.quantize._scope import Scoped
from cnet.quantize._sizes import magnitudes
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]

_MEMORY = {1: 0, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6, 128: 7}


@QUANTIZERS.register("ecsq")
class Ecsq(Scoped):
    """A uniform grid, labels chosen by error and by what they cost in the file.

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

    @property
    def tunes_centroids(self) -> bool:
        """No: ``compact`` knows the trellis by its grid."""
        return False

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - the contract's
        """Labels and centroids of ``values`` without their places: the nearest point of the grid that is not 0."""
        unit = self._unit(values)
        sizes = np.maximum(np.rint(np.abs(values / unit) / 2), 1) if unit else np.ones(len(values))
        symbols = _symbols(np.where(values < 0, -2 * sizes, 2 * sizes).astype(np.int32), unit or 1.0, values.dtype)
        return Codebook(symbols.labels, symbols.centroids)

    def one_codebook(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,  # noqa: ARG002 - the contract's
        shapes: Sequence[tuple[int, ...]],
    ) -> Symbols:
        """The symbols of weights on one grid.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        multiples = np.zeros(len(vector), np.int32)
        unit = self._unit(vector[keep])
        if unit == 0:
            return _symbols(multiples, 1.0, vector.dtype)
        largest = _largest(vector, keep, unit)
        chooser = Chooser(_MEMORY[self.states], self.mu)
        for pieces in segments(list(shapes) or [(len(vector),)]):
            part = slice(pieces[0].start, pieces[-1].start + pieces[-1].size)
            sizes = np.where(keep[part], np.abs(vector[part]), 0) / unit
            multiples[part] = chooser.multiples(pieces, sizes.astype(np.float32), keep[part], largest)
        multiples[vector < 0] *= -1
        return _symbols(multiples, _refined(vector, multiples, unit), vector.dtype)

    def _unit(self, values: Floats) -> float:
        """Half the step, a number that the values' type holds; 0 where all values are 0 or all but."""
        top, rms = magnitudes(values)
        if top == 0:
            return 0.0
        return float(values.dtype.type(min(max(self.step * rms, top / MOST) / 2, top)))


def _largest(vector: Floats, keep: npt.NDArray[np.bool_], unit: float) -> int:
    """The largest k: its point is not far beyond the largest weight, and a finite number of the weights' type."""
    top = float(np.max(np.abs(vector[keep])))
    room: Any = np.finfo(vector.dtype).max
    return max(1, int(min(top / unit / 2 + 1, float(room) / 4 / unit, MOST)))


def _refined(vector: Floats, multiples: Ints, unit: float) -> float:
    """The unit of least squared error for these multiples."""
    at = np.flatnonzero(multiples)
    chosen = multiples[at].astype(np.float64)
    power = float(np.sum(chosen * chosen))
    moment = float(np.sum(vector[at].astype(np.float64) / unit * chosen))
    return unit * moment / power if power > 0 and moment > 0 else unit


def _symbols(multiples: Ints, unit: float, dtype: np.dtype[Any]) -> Symbols:
    keep = multiples != 0
    labels, used = numbered(multiples[keep])
    return Symbols(keep, labels, Grid(dtype.type(unit), used).centroids())
