"""The accuracy that points lose against the baseline, on the scale on which a search models it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.results.points import BaselineResult, Point
from cnet.search.surrogate import Coordinates, Floats, Prior, Surrogate

_PRIOR = Prior(constant=1.0, slopes=(0.5, 0.3), smooth=2.5)
_NOISE = 0.05  # least noise of a loss, on the scale
_NOISE_SHARE = 0.5  # noise of a loss, relative to that of two models that err independently
_LEAST_DOUBT = 0.2  # on the scale: a loss so close to the limit may be on its other side
_LEAST_SCALE = 0.25  # in points of accuracy
_HALVING_LOSS, _BIT_LOSS, _BASE_LOSS = 0.35, 0.15, -2.0  # expected loss before anything is measured, on the scale


@dataclass(frozen=True)
class AccuracyLoss:
    """The scale: asinh(points of accuracy lost / ``scale``), linear for small losses and logarithmic for large ones.

    Attributes:
        accuracy: of the baseline, percent; of a task with another metric its number, negative where less is better.
        noise: standard deviation of a measured loss, in points of accuracy, from the number of samples.
        scale: the loss at which the scale turns from linear to logarithmic, in points of accuracy.
        limit: the largest allowed loss, on the scale.
    """

    accuracy: float
    noise: float
    scale: float
    limit: float

    @classmethod
    def of(cls, baseline: BaselineResult, samples: int | None, max_drop: float) -> AccuracyLoss:
        """The scale for a search whose target allows a loss of ``max_drop`` points of accuracy."""
        accuracy, count = baseline.quality or 0.0, samples or 1
        if baseline.metric is None or baseline.metric.unit == "percent":
            right, least = accuracy / 100, _LEAST_SCALE
            noise = 100 * _NOISE_SHARE * math.sqrt(max(right * (1 - right), 1 / count) / count)
        else:
            least = max(_LEAST_SCALE / 100 * abs(accuracy), 1e-12)
            noise = _NOISE_SHARE * abs(accuracy) * math.sqrt(2 / count)  # squared normal errors
        scale = max(max_drop, noise, least)
        return cls(accuracy, noise, scale, math.asinh((max_drop + 1e-9) / scale))

    @property
    def doubt(self) -> float:
        """Standard deviation of a measurement close to the limit, on the scale."""
        return max(_LEAST_DOUBT, self.noise / self.scale / math.cosh(self.limit))

    def of_points(self, points: Sequence[Point]) -> Floats:
        """The losses of k points on the scale, float64, shape (k,)."""
        lost = [self.accuracy - (0.0 if point.quality is None else point.quality) for point in points]
        values: Floats = np.arcsinh(np.array(lost, np.float64) / self.scale)
        return values

    def posterior(
        self, coordinates: Coordinates, rows: npt.NDArray[np.intp], points: Sequence[Point]
    ) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the loss of m candidates on the scale, float64, shape (m,) each.

        Args:
            coordinates: of the candidates.
            rows: the candidates that were made, intp, shape (k,).
            points: that came of them, k.
        """
        values = self.of_points(points)
        lost = np.abs(np.sinh(values))
        noise = np.maximum(np.arcsinh(lost + self.noise / self.scale) - np.arcsinh(lost), _NOISE)
        coarseness = coordinates.bits.max() - coordinates.bits
        prior = _HALVING_LOSS * coordinates.halvings + _BIT_LOSS * coarseness + _BASE_LOSS
        mean, deviation = Surrogate(coordinates, _PRIOR).posterior(rows, values - prior[rows], noise)
        return mean + prior, deviation
