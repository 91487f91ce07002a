"""The damage that a target limits without labels: outputs that differ from those of the original, or noise in weights.

Searches model it as a logarithm. Noise in the weights is a power, to which the divergence of the outputs is about
proportional; the share of inputs whose class changes grows as its square root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from cnet.results.points import Point
from cnet.search.surrogate import Coordinates, Floats, Prior, Surrogate
from cnet.spec import Target

_PRIOR = Prior(constant=4.0, slopes=(0.3, 0.3), smooth=0.6)
_NOISE = 0.05  # of a measured damage, on the scale
_LEAST_DOUBT = 0.1  # on the scale: a damage so close to the limit may be on its other side
_LEAST = -30.0  # on the scale: of a network that has not changed


@dataclass(frozen=True, eq=False)
class Damage:
    """A damage on a logarithmic scale, which is smaller where the network has changed less.

    Attributes:
        limit: the largest allowed damage, on the scale.
        measure: the damage of a point on the scale; None where it was not measured.
        forecast: of m candidates on the scale, up to a constant, float64, shape (m,).
    """

    limit: float
    measure: Callable[[Point], float | None]
    forecast: Floats

    @classmethod
    def of(cls, target: Target, errors: Floats) -> Self | None:
        """The damage that a target limits; None where it limits another quantity.

        Args:
            target: of the job.
            errors: forecasts of the natural logarithm of the mean squared error of m candidates, float64, shape (m,).
        """
        if target.max_kl is not None:
            return cls(_logarithm(target.max_kl), divergence, errors)
        if target.min_agreement is not None:
            return cls(_logarithm(100 - target.min_agreement), disagreement, errors / 2)
        if target.min_snr is not None:
            return cls(-target.min_snr * math.log(10) / 10, noise, errors)
        if target.min_output_snr is not None:
            return cls(-target.min_output_snr * math.log(10) / 10, output_noise, errors)
        return None

    @property
    def doubt(self) -> float:
        """Standard deviation of a measurement close to the limit, on the scale."""
        return _LEAST_DOUBT

    def holds(self, point: Point) -> bool:
        """Whether a point's damage is measured, and within the limit."""
        damage = self.measure(point)
        return damage is not None and damage <= self.limit + 1e-9

    def of_points(self, points: Sequence[Point]) -> Floats:
        """The damages of k points, float64, shape (k,); infinite where one was not measured."""
        found = [self.measure(point) for point in points]
        return np.array([math.inf if damage is None else damage for damage in found], np.float64)

    def posterior(
        self, coordinates: Coordinates, rows: npt.NDArray[np.intp], points: Sequence[Point]
    ) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the damage of m candidates, float64, shape (m,) each.

        Args:
            coordinates: of the candidates.
            rows: the candidates that were made, intp, shape (k,).
            points: that came of them, k.
        """
        values = np.clip(self.of_points(points), _LEAST, -_LEAST)
        surrogate = Surrogate(coordinates, _PRIOR)
        mean, deviation = surrogate.posterior(rows, values - self.forecast[rows], np.full(len(rows), _NOISE))
        return mean + self.forecast, deviation


def on_choice_split(point: Point, name: Literal["kl", "agreement", "output_snr_db"]) -> float | None:
    """A difference of a point's outputs on the split for choices: validation, without one the test."""
    test: float | None = getattr(point, name)
    validation: float | None = getattr(point, f"{name}_validation")
    return test if validation is None else validation


def divergence(point: Point) -> float | None:
    """The natural logarithm of the divergence of a point's outputs, on the split for choices."""
    kl = on_choice_split(point, "kl")
    return None if kl is None else _logarithm(kl)


def disagreement(point: Point) -> float | None:
    """The natural logarithm of the percentage of inputs whose class has changed, on the split for choices."""
    agreement = on_choice_split(point, "agreement")
    return None if agreement is None else _logarithm(100 - agreement)


def output_noise(point: Point) -> float | None:
    """The natural logarithm of the noise in a point's outputs relative to their power, on the split for choices."""
    ratio = on_choice_split(point, "output_snr_db")
    return None if ratio is None else -ratio * math.log(10) / 10


def noise(point: Point) -> float | None:
    """The natural logarithm of the noise in a point's weights relative to their power."""
    if point.snr_db is None:
        return -math.inf if point.mse == 0 else None
    return -point.snr_db * math.log(10) / 10


def _logarithm(value: float) -> float:
    return max(math.log(value), _LEAST) if value > 0 else _LEAST
