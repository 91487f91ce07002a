"""What is expected of a candidate that was not made: Gaussian-process regression on those that were.

Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2. Few dozen observations, so that the
cubic cost is nothing. The covariance of two candidates is a constant, a linear trend, a smooth part that all
quantizers share, and a smooth part of each quantizer's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HALVINGS = 0.7  # length scales: of kept weights, in halvings of their number
_BITS = 2.0  # and of the bits of a label
_APART = 0.5  # share of the smooth part that quantizers do not have in common


@dataclass(frozen=True, eq=False)
class Places:
    """Where candidates lie.

    Attributes:
        halvings: how often the weights were halved by pruning, -log2(1 - sparsity), shape (m,).
        bits: nominal bits of a kept weight, shape (m,).
        family: number of the quantizer, shape (m,).
    """

    halvings: Floats
    bits: Floats
    family: npt.NDArray[np.intp]

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> Places:
        """Some of them."""
        return Places(self.halvings[rows], self.bits[rows], self.family[rows])


@dataclass(frozen=True)
class Prior:
    """Standard deviations of a quantity's parts before anything is known, in its own unit.

    Attributes:
        constant: of its mean.
        slopes: of its slope a halving and a bit.
        smooth: of what is neither.
    """

    constant: float
    slopes: tuple[float, float]
    smooth: float


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A quantity on all candidates, conditioned on the values seen at some.

    Args:
        places: of all candidates.
        prior: how it may vary about 0.
    """

    places: Places
    prior: Prior

    def given(self, rows: npt.NDArray[np.intp], values: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation at each candidate, without the noise of a measurement, each of shape (m,).

        Args:
            rows: which candidates were seen, shape (k,).
            values: what was seen there, shape (k,).
            noise: standard deviations of the measurements, positive, shape (k,).
        """
        seen = self.places[rows]
        across = self._covariance(self.places, seen)
        factor = np.linalg.cholesky(self._covariance(seen, seen) + np.diag(noise**2))
        white = np.linalg.solve(factor, across.T)
        mean: Floats = white.T @ np.linalg.solve(factor, values)
        left = self._variance(self.places) - np.sum(white**2, axis=0)
        return mean, np.sqrt(np.maximum(left, 1e-12))

    def _covariance(self, one: Places, other: Places) -> Floats:
        prior = self.prior
        near = np.exp(
            -0.5 * (np.subtract.outer(one.halvings, other.halvings) / _HALVINGS) ** 2
            - 0.5 * (np.subtract.outer(one.bits, other.bits) / _BITS) ** 2
        )
        alike = np.where(np.equal.outer(one.family, other.family), 1.0, 1.0 - _APART)
        trend = prior.slopes[0] ** 2 * np.outer(one.halvings, other.halvings)
        trend += prior.slopes[1] ** 2 * np.outer(one.bits, other.bits)
        covariance: Floats = prior.constant**2 + trend + prior.smooth**2 * near * alike
        return covariance

    def _variance(self, places: Places) -> Floats:
        """The diagonal of the covariance."""
        prior = self.prior
        trend = (prior.slopes[0] * places.halvings) ** 2 + (prior.slopes[1] * places.bits) ** 2
        variance: Floats = prior.constant**2 + trend + prior.smooth**2
        return variance
