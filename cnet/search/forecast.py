"""What each candidate's file would weigh, and how far its weights would be off: forecasts from a sample of the weights.

Pruned by magnitude and quantized as they are before recovery, sizes by entropies: within some ten percent of what
comes out, for all candidates together in the time of making a few. The search corrects them by what it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cnet.points import BaselineResult
from cnet.quantize import Quantizer
from cnet.search.grid import Grid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Trials = tuple[Floats, Floats, Floats]

_LOOKED_AT = 2**18
_TRIED = 2**11
_PLACES = 8
_CONTAINER = 540.0
_LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class Forecast:
    """Of each candidate of a grid: natural logarithms of the bundle's bytes, and of the mse over w_net."""

    sizes: Floats
    errors: Floats

    @classmethod
    def of(cls, grid: Grid, vector: npt.NDArray[np.floating], baseline: BaselineResult) -> Self:
        """The forecast for w_net as it is just before pruning: finite, shape (n,), n what a transform made of it."""
        count = len(vector)
        sample = np.asarray(vector[:: max(1, count // _LOOKED_AT)], np.float64)
        ascending = sample[np.argsort(np.abs(sample), kind="stable")]
        width = baseline.raw_bytes / max(baseline.parameters, 1)
        rest = max(baseline.raw_bytes - width * baseline.compressible_parameters, 0.0) + _CONTAINER
        first = np.array([max(round(s * len(sample)), np.count_nonzero(sample == 0)) for s in grid.sparsities])
        bits, errors = np.empty(len(grid.candidates)), np.empty(len(grid.candidates))
        for rows, quantizer, clusters in grid.levels:
            zeros = first[grid.position[rows]]
            share = 1 - zeros / max(len(sample), 1)
            label, error, more = _interpolated(ascending, zeros, quantizer, clusters)
            bits[rows] = _mask(share * (1 - more)) + share * (1 - more) * label + 32 * (clusters or 0) / max(count, 1)
            errors[rows] = _pruned(ascending, zeros) + share * error
        return cls(np.log(rest + count / 8 * bits), np.log(np.maximum(errors, _LEAST)))

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {"sizes": self.sizes.tolist(), "errors": self.errors.tolist()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        return cls(np.array(document["sizes"], np.float64), np.array(document["errors"], np.float64))


def _interpolated(ascending: Floats, zeros: Ints, quantizer: Quantizer, clusters: int | None) -> Trials:
    """``Quantizer.estimate`` where so many of the smallest weights are pruned, made at a few of these."""
    places = np.unique(zeros[zeros < len(ascending)])
    places = places[np.unique(np.linspace(0, len(places) - 1, _PLACES).astype(np.intp))] if len(places) else places
    if not len(places):
        return np.zeros(len(zeros)), np.zeros(len(zeros)), np.zeros(len(zeros))
    kept = [ascending[place :: max(1, (len(ascending) - place) // _TRIED)] for place in places]
    bits, errors, more = np.array([quantizer.estimate(values, clusters) for values in kept], np.float64).T
    return np.interp(zeros, places, bits), np.interp(zeros, places, errors), np.interp(zeros, places, more)


def _pruned(ascending: Floats, zeros: Ints) -> Floats:
    """Squared error a weight of pruning so many."""
    power = np.concatenate([[0.0], np.cumsum(ascending**2)])
    errors: Floats = power[zeros] / max(len(ascending), 1)
    return errors


def _mask(share: Floats) -> Floats:
    """Bits a weight of a mask that keeps a share."""
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    bits: Floats = -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside)
    return bits
