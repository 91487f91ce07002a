"""Entropy-constrained scalar quantization: a uniform grid, and labels chosen by their error and their bits.

Where labels are entropy-coded, a uniform grid beats the centroids of k-means at equal error (Gish and Pierce,
"Asymptotically efficient quantizing", IEEE Trans. Inf. Theory 14/5, 1968). Each weight takes the grid point of least
error^2 + mu * bits. The bits are those that the encoder ``compact`` spends in the weight's context
(``cnet.coding.rates``), so that the range of weights that become 0 is wide where zeros are cheap. With a trellis,
weights take points of two interleaved grids in turns, which saves about another tenth of a bit a weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.coding.rates import segments_of
from cnet.coding.uniform_grid import UniformGrid, label_integers
from cnet.parts.capabilities import SearchConditions
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize._sensitivity import Sensitive, Singles
from cnet.quantize.label_search.label_choice import MAX_STEP, LabelChooser
from cnet.quantize.quantizer import NORMAL_BITS, QUANTIZERS, Codebook, QuantizationEstimate
from cnet.results.measures import entropy
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]

_TRELLIS_GAIN = 0.65  # of the squared error
_ZERO_ZONE = 0.3  # how much wider than half a step the zone around 0 gets, in steps, as mu grows
_MEMORY = {1: 0, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6, 128: 7}


@QUANTIZERS.register("ecsq")
class Ecsq(Sensitive):
    """A uniform grid, with labels that are chosen by their error and by the bits that they cost in the bundle.

    Use it with the encoder ``compact``, which recognizes the trellis; with other encoders set ``states`` to 1. Weights
    that cost more bits than their error is worth become zero, so that the sparsity can be higher than the pruner's.
    """

    name: Literal["ecsq"] = "ecsq"
    summary: ClassVar[str] = "Uniform grid, each label chosen by its error and by its bits: the smallest file."
    source: ClassVar[str] = "Gish and Pierce (1968); Marcellin and Fischer (1990)"
    #: A wider step at the same ``mu`` is a higher price of a bit in squared error, and the cheapest way to fewer bits.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "step": tuple(0.05 * 2 ** (quarter / 4) for quarter in range(26)),
        "mu": tuple(0.125 * 2 ** (half / 2) for half in range(17)),
    }

    step: float = Field(
        default=0.25,
        ge=1e-4,
        le=100.0,
        description="Distance of the points a weight can choose from, in root mean squares of the kept weights.",
    )
    mu: float = Field(default=0.5, ge=0.0, le=100.0, description="Price of a bit; 0: the nearest point, always.")
    states: Literal[1, 4, 8, 16, 32, 64, 128] = Field(
        default=32,
        description="States of the trellis: more cost time and save bytes; 1 is none, and its centroids are trained.",
    )

    @property
    def trains_centroids(self) -> bool:
        """True without a trellis: ``compact`` recognizes a trellis by its grid, which training would change."""
        return self.states == 1

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self | None:
        """The defaults where the encoder spends the bits that labels are chosen by.

        Without a trellis where the job trains centroids, which does more for the accuracy and needs them free.
        """
        if not conditions.context_rates:
            return None
        return cls(states=1) if conditions.trains_centroids else cls()

    @property
    def reported_settings(self) -> Mapping[str, float]:
        """The step and the price of a bit."""
        return {"step": self.step, "mu": self.mu}

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a normal distribution on the grid, less what the price of a bit saves."""
        del clusters
        return max(NORMAL_BITS - math.log2(self.step) - 0.25 * math.log2(1 + self.mu), 0.2)

    def estimate(self, values: npt.NDArray[np.float64], clusters: int | None) -> QuantizationEstimate:
        """As ``Quantizer.estimate``, of values that are rounded to the grid one by one, the smallest ones to zero."""
        del clusters
        step = 2 * self._unit(values)
        if not step:
            return QuantizationEstimate(bits=0.0, squared_error=0.0, zeros=1.0)
        zone = 0.5 + _ZERO_ZONE * self.mu / (1 + self.mu)
        sizes = np.abs(values) / step
        multiples = np.where(sizes < zone, 0, np.maximum(np.rint(sizes), 1)) * np.sign(values)
        gain = _TRELLIS_GAIN if self.states > 1 else 1.0
        error = gain * float(np.mean((multiples * step - values) ** 2))
        used = multiples[multiples != 0]
        bits = entropy(np.unique(used, return_counts=True)[1])
        return QuantizationEstimate(bits, error, zeros=1 - len(used) / len(values))

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - the grid decides how many
        """Labels and centroids of values of unknown position: the nearest non-zero point of the grid.

        Args:
            values: float32 or float64, shape (n,).
            clusters: None.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        unit = self._unit(values)
        sizes = np.maximum(np.rint(np.abs(values / unit) / 2), 1) if unit else np.ones(len(values))
        symbols = _symbols(np.where(values < 0, -2 * sizes, 2 * sizes).astype(np.int32), unit or 1.0, values.dtype)
        return Codebook(symbols.labels, symbols.centroids)

    def one_codebook(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,  # noqa: ARG002 - the grid decides how many
        shapes: Sequence[tuple[int, ...]],
    ) -> Symbols:
        """The symbols of weights that share a grid; arguments as for ``Quantizer.symbols``.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        return self.weighted(vector, keep, shapes, None)

    def weighted(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        shapes: Sequence[tuple[int, ...]],
        importance: Singles | None,
    ) -> Symbols:
        """The symbols of weights that share a grid.

        Args:
            vector: the weights, float32 or float64, shape (n,).
            keep: which of them may be non-zero: bool, shape (n,).
            shapes: of the tensors that they are of; empty: they are one vector.
            importance: weight of each squared error, float32, shape (n,); None: 1 each.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        multiples = np.zeros(len(vector), np.int32)
        unit = self._unit(vector[keep])
        if unit == 0:
            return _symbols(multiples, 1.0, vector.dtype)
        chooser = LabelChooser(_MEMORY[self.states], self.mu, _largest_step(vector, keep, unit))
        for segment in segments_of(list(shapes) or [(len(vector),)]):
            part = segment.place
            sizes = (np.where(keep[part], np.abs(vector[part]), 0) / unit).astype(np.float32)
            own = None if importance is None else importance[part]
            multiples[part] = chooser.multiples(segment, sizes, keep[part], own)
        multiples[vector < 0] *= -1
        return _symbols(multiples, _best_unit(vector, multiples, unit, importance), vector.dtype)

    def _unit(self, values: Floats) -> float:
        """Half the step size, rounded to the type of the values, shape (n,); 0 where all of them are about 0."""
        top, rms = largest_and_rms(values)
        if top == 0:
            return 0.0
        return float(values.dtype.type(min(max(self.step * rms, top / MAX_STEP) / 2, top)))


def _largest_step(vector: Floats, keep: npt.NDArray[np.bool_], unit: float) -> int:
    """The largest k allowed: its point is close to the largest weight, and finite in the weights' type."""
    top = float(np.max(np.abs(vector[keep])))
    limit: Any = np.finfo(vector.dtype).max
    return max(1, int(min(top / unit / 2 + 1, float(limit) / 4 / unit, MAX_STEP)))


def _best_unit(vector: Floats, multiples: Ints, unit: float, importance: Singles | None) -> float:
    """The unit of least weighted squared error for given multiples of it, all of which are finite in the weights' type.

    Args:
        vector: the weights, shape (n,).
        multiples: of the unit: int32, shape (n,), 0 where pruned.
        unit: for which the multiples were chosen.
        importance: weight of each squared error, float32, shape (n,); None: 1 each.
    """
    at = np.flatnonzero(multiples)
    chosen = multiples[at].astype(np.float64)
    weighted = chosen if importance is None else chosen * importance[at]
    power = float(np.sum(weighted * chosen))
    moment = float(np.sum(vector[at].astype(np.float64) / unit * weighted))
    limit: Any = np.finfo(vector.dtype).max
    best = unit * moment / power if power > 0 and moment > 0 else unit
    return min(best, 0.999 * float(limit) / float(np.max(np.abs(chosen), initial=1)))


def _symbols(multiples: Ints, unit: float, dtype: np.dtype[Any]) -> Symbols:
    """The symbols of weights that become ``multiples``, int32, shape (n,), times ``unit``."""
    keep = multiples != 0
    labels, used = label_integers(multiples[keep])
    return Symbols(keep, labels, UniformGrid(dtype.type(unit), used).centroids())
