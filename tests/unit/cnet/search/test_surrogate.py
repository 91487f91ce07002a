"""Regression on the points made so far."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.search.surrogate import Coordinates, Prior, Surrogate

PRIOR = Prior(constant=1.0, slopes=(0.5, 0.3), smooth=2.0)


def _coordinates() -> Coordinates:
    halvings = np.repeat(np.linspace(0.0, 8.0, 9), 4)
    bits = np.tile(np.array([1.0, 3.0, 5.0, 7.0]), 9)
    return Coordinates(halvings, bits, np.arange(36) % 2)


def test_without_observations_the_prediction_is_the_prior() -> None:
    """The mean is 0; the variance is the sum of the parts' variances."""
    coordinates = _coordinates()
    mean, deviation = Surrogate(coordinates, PRIOR).posterior(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))
    expected = 1.0 + (0.5 * coordinates.halvings) ** 2 + (0.3 * coordinates.bits) ** 2 + 4.0
    assert not mean.any()
    np.testing.assert_allclose(deviation**2, expected)


def test_conditioning_is_that_of_the_normal_distribution() -> None:
    """Against the textbook's formula with an explicit inverse."""
    coordinates, rows = _coordinates(), np.array([3, 17, 30])
    values, noise = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, 0.3])
    surrogate = Surrogate(coordinates, PRIOR)
    every = np.arange(36)
    prior = surrogate.covariance(coordinates[every], coordinates[every])
    inverse = np.linalg.inv(prior[np.ix_(rows, rows)] + np.diag(noise**2))
    mean, deviation = surrogate.posterior(rows, values, noise)
    np.testing.assert_allclose(mean, prior[:, rows] @ inverse @ values, atol=1e-9)
    variance = np.diag(prior - prior[:, rows] @ inverse @ prior[rows])
    np.testing.assert_allclose(deviation**2, variance, atol=1e-9)


def test_an_observation_reduces_the_variance_of_its_neighbours() -> None:
    """More for near candidates and those of the same quantizer."""
    coordinates = Coordinates(np.array([3.0, 3.0, 3.5, 7.0]), np.array([4.0, 4.0, 4.0, 4.0]), np.array([0, 1, 0, 0]))
    mean, deviation = Surrogate(coordinates, PRIOR).posterior(np.array([0]), np.array([1.5]), np.array([1e-3]))
    assert mean[0] == pytest.approx(1.5, abs=1e-3)
    assert deviation[0] < deviation[2] < deviation[1] < deviation[3]
