"""The scale of lost accuracy: linear near the limit, logarithmic far beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.search.accuracy_loss import AccuracyLoss
from cnet.search.surrogate import Coordinates
from tests.unit.cnet.points_at_hand import a_baseline, a_point

BASELINE = a_baseline(97.0)


def test_small_losses_are_linear_and_large_ones_logarithmic() -> None:
    """Half a point counts half of one point; 40 points count little more than 20."""
    loss = AccuracyLoss(accuracy=97.0, noise=0.1, scale=5.0, limit=1.0)
    values = loss.of_points([a_point(i, 100, 97.0 - lost, 0.1) for i, lost in enumerate((0.5, 1.0, 20.0, 40.0))])

    assert values[1] / values[0] == pytest.approx(2.0, rel=0.02)
    assert values[3] - values[2] == pytest.approx(np.log(2), rel=0.05)


def test_the_limit_is_the_allowed_loss_on_the_scale() -> None:
    """A point that loses exactly that much is at the limit."""
    loss = AccuracyLoss.of(BASELINE, 10_000, max_drop=0.5)

    assert loss.of_points([a_point(0, 100, 96.5, 0.1)])[0] == pytest.approx(loss.limit, abs=1e-6)


def test_fewer_choice_samples_mean_more_noise() -> None:
    """A hundred times fewer: ten times the noise."""
    many, few = (AccuracyLoss.of(BASELINE, images, max_drop=0.5) for images in (10_000, 100))

    assert few.noise == pytest.approx(10 * many.noise)
    assert few.doubt >= many.doubt


def test_the_loss_of_a_candidate_is_expected_from_its_neighbours() -> None:
    """Near a measured candidate the mean is close to its loss and the deviation small."""
    loss = AccuracyLoss.of(BASELINE, 10_000, max_drop=0.5)
    coordinates = Coordinates(np.array([1.0, 1.1, 6.0]), np.full(3, 4.0), np.zeros(3, np.intp))
    point = a_point(0, 100, 96.0, 0.1)

    mean, deviation = loss.posterior(coordinates, np.array([0]), [point])

    assert mean[0] == pytest.approx(loss.of_points([point])[0], abs=0.1)
    assert deviation[0] < deviation[1] < deviation[2]
