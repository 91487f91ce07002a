"""The surrogate model of a search: Gaussian-process regression on the points made so far.

It predicts a quantity (size, loss of accuracy, error) of candidates that were not made. Rasmussen and Williams,
Gaussian Processes for Machine Learning, 2006, chapter 2. There are a few dozen observations, so that the cubic cost
does not matter. The covariance of two candidates is a constant, a linear trend, a smooth part that all quantizers
share, and a smooth part of each quantizer's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HALVINGS_SCALE = 0.7  # length scale: number of halvings of the kept weights
_BITS_SCALE = 2.0  # length scale: bits of a label
_OWN_SHARE = 0.5  # share of the smooth part that is each quantizer's own


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates of m candidates.

    Attributes:
        halvings: how often pruning halved the number of weights, -log2(1 - sparsity), float64, shape (m,).
        bits: nominal bits of the label of a kept weight, float64, shape (m,).
        quantizer: index of the quantizer, intp, shape (m,).
    """

    halvings: Floats
    bits: Floats
    quantizer: npt.NDArray[np.intp]

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> Coordinates:
        """The coordinates of the candidates ``rows``, shape (k,)."""
        return Coordinates(self.halvings[rows], self.bits[rows], self.quantizer[rows])


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the parts of a quantity before anything is measured, in the unit of the quantity.

    Attributes:
        constant: of its mean.
        slopes: of its slopes along halvings and along bits.
        smooth: of its deviation from the linear trend.
    """

    constant: float
    slopes: tuple[float, float]
    smooth: float


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A Gaussian process over the candidates with mean 0.

    Args:
        coordinates: of all m candidates.
        prior: how the quantity may vary.
    """

    coordinates: Coordinates
    prior: Prior

    def posterior(self, rows: npt.NDArray[np.intp], values: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation at each candidate given some measurements, float64, each of shape (m,).

        The standard deviation leaves out the noise that a new measurement would have.

        Args:
            rows: the candidates that were measured, shape (k,).
            values: the measurements, float64, shape (k,).
            noise: their standard deviations, positive, float64, shape (k,).
        """
        measured = self.coordinates[rows]
        cross = self.covariance(self.coordinates, measured)
        factor = np.linalg.cholesky(self.covariance(measured, measured) + np.diag(noise**2))
        whitened = np.linalg.solve(factor, cross.T)
        mean: Floats = whitened.T @ np.linalg.solve(factor, values)
        variance = self._prior_variance() - np.sum(whitened**2, axis=0)
        return mean, np.sqrt(np.maximum(variance, 1e-12))

    def covariance(self, one: Coordinates, other: Coordinates) -> Floats:
        """Prior covariance of the quantity between two lists of candidates, float64, shape (len(one), len(other))."""
        prior = self.prior
        nearness = np.exp(
            -0.5 * (np.subtract.outer(one.halvings, other.halvings) / _HALVINGS_SCALE) ** 2
            - 0.5 * (np.subtract.outer(one.bits, other.bits) / _BITS_SCALE) ** 2
        )
        shared = np.where(np.equal.outer(one.quantizer, other.quantizer), 1.0, 1.0 - _OWN_SHARE)
        trend = prior.slopes[0] ** 2 * np.outer(one.halvings, other.halvings)
        trend += prior.slopes[1] ** 2 * np.outer(one.bits, other.bits)
        covariance: Floats = prior.constant**2 + trend + prior.smooth**2 * nearness * shared
        return covariance

    def _prior_variance(self) -> Floats:
        """The diagonal of ``covariance`` of all candidates, shape (m,)."""
        prior, coordinates = self.prior, self.coordinates
        trend = (prior.slopes[0] * coordinates.halvings) ** 2 + (prior.slopes[1] * coordinates.bits) ** 2
        variance: Floats = prior.constant**2 + trend + prior.smooth**2
        return variance
