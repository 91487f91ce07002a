"""Forecast of each candidate's file size and error, from a sample of the weights before pruning.

The sample is pruned by magnitude and quantized without recovery, and sizes follow from entropies. A forecast is within
some ten percent of the result, and takes for all candidates the time of making a few. The search corrects it by the
points that it makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cnet.quantize import QuantizationEstimate
from cnet.results.points import BaselineResult
from cnet.search.grid import CandidateGrid, QuantizerSetting

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_SAMPLE_WEIGHTS = 2**18
_QUANTIZED_WEIGHTS = 2**11  # of the sample, for each estimate
_ESTIMATED_SPARSITIES = 8  # for each setting of a quantizer; between these estimates are interpolated
_CONTAINER_BYTES = 540.0
_LEAST_ERROR = 1e-30


@dataclass(frozen=True, eq=False)
class Forecast:
    """Forecasts for the m candidates of a grid.

    Attributes:
        sizes: natural logarithm of the bundle's size in bytes, float64, shape (m,).
        errors: natural logarithm of the mean squared error over w_net, float64, shape (m,).
    """

    sizes: Floats
    errors: Floats

    @classmethod
    def of(cls, grid: CandidateGrid, vector: npt.NDArray[np.floating], baseline: BaselineResult) -> Self:
        """The forecast for a model.

        Args:
            grid: the candidates.
            vector: w_net just before pruning, after the transform if there is one: float32 or float64, finite,
                shape (n,).
            baseline: the model before compression.
        """
        count = len(vector)
        sample = np.asarray(vector[:: max(1, count // _SAMPLE_WEIGHTS)], np.float64)
        ascending = sample[np.argsort(np.abs(sample), kind="stable")]
        bytes_per_weight = baseline.raw_bytes / max(baseline.parameters, 1)
        others = baseline.raw_bytes - bytes_per_weight * baseline.compressible_parameters
        rest = max(others, 0.0) + _CONTAINER_BYTES
        pruned = np.array([max(round(s * len(sample)), np.count_nonzero(sample == 0)) for s in grid.sparsities])
        bits, errors = np.empty(len(grid.candidates)), np.empty(len(grid.candidates))
        for setting in grid.quantizer_settings:
            zeros = pruned[grid.sparsity_index[setting.rows]]
            kept_share = 1 - zeros / max(len(sample), 1)
            estimate = _interpolate_estimates(ascending, zeros, setting)
            nonzero_share = kept_share * (1 - estimate.zeros)
            codebook_bits = 32 * (setting.clusters or 0) / max(count, 1)
            bits[setting.rows] = _mask_bits(nonzero_share) + nonzero_share * estimate.bits + codebook_bits
            errors[setting.rows] = _pruning_error(ascending, zeros) + kept_share * estimate.squared_error
        return cls(np.log(rest + count / 8 * bits), np.log(np.maximum(errors, _LEAST_ERROR)))

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {"sizes": self.sizes.tolist(), "errors": self.errors.tolist()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        return cls(np.array(document["sizes"], np.float64), np.array(document["errors"], np.float64))


@dataclass(frozen=True, eq=False)
class _Estimates:
    """``QuantizationEstimate`` of several numbers of pruned weights, as arrays of one shape."""

    bits: Floats
    squared_error: Floats
    zeros: Floats


def _interpolate_estimates(ascending: Floats, zeros: Ints, setting: QuantizerSetting) -> _Estimates:
    """What a quantizer does where the ``zeros`` smallest weights are pruned, estimated for a few of these numbers.

    Args:
        ascending: the sample of weights by ascending magnitude, shape (s,).
        zeros: numbers of pruned weights, shape (k,).
        setting: the quantizer.
    """
    numbers = np.unique(zeros[zeros < len(ascending)])
    if not len(numbers):
        nothing = np.zeros(len(zeros))
        return _Estimates(nothing, nothing, nothing)
    numbers = numbers[np.unique(np.linspace(0, len(numbers) - 1, _ESTIMATED_SPARSITIES).astype(np.intp))]
    estimates: list[QuantizationEstimate] = []
    for number in numbers:
        kept = ascending[number :: max(1, (len(ascending) - number) // _QUANTIZED_WEIGHTS)]
        estimates.append(setting.quantizer.estimate(kept, setting.clusters))
    return _Estimates(*(np.interp(zeros, numbers, column) for column in np.array(estimates, np.float64).T))


def _pruning_error(ascending: Floats, zeros: Ints) -> Floats:
    """Mean squared error over all weights of pruning the ``zeros`` smallest, shape as ``zeros``."""
    power = np.concatenate([[0.0], np.cumsum(ascending**2)])
    errors: Floats = power[zeros] / max(len(ascending), 1)
    return errors


def _mask_bits(kept_share: Floats) -> Floats:
    """Entropy of a mask in bits per weight, by the share of weights that it keeps."""
    inside = np.clip(kept_share, 1e-12, 1 - 1e-12)
    bits: Floats = -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside)
    return bits
