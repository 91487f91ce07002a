"""Intervals of sorted points: cost and means."""

from __future__ import annotations

import numpy as np

from cnet.quantize.kmeans1d.partitions import PrefixSums, drop_repeated, interval_means, partition_cost

POSITIONS, COUNTS = np.array([0.0, 1.0, 5.0, 6.0]), np.array([1.0, 3.0, 1.0, 1.0])
STARTS = np.array([0, 2])


def test_prefix_sums_give_the_cost_of_any_interval() -> None:
    """Squared error around the mean; 0 for an empty interval, infinite for one that ends before it begins."""
    sums = PrefixSums.of(POSITIONS, COUNTS)

    costs = sums.cost_between(np.array([0, 2, 1, 2]), np.array([2, 4, 1, 1]))

    np.testing.assert_allclose(costs, [0.75, 0.5, 0.0, np.inf])
    np.testing.assert_allclose(sums.cost_from_zero()[[1, 2]], [0.0, 0.75])


def test_means_of_intervals_agree() -> None:
    """Prefix sums and the exact way give the same means here."""
    np.testing.assert_allclose(PrefixSums.of(POSITIONS, COUNTS).means(STARTS), [0.75, 5.5])
    np.testing.assert_allclose(interval_means(POSITIONS, COUNTS, STARTS), [0.75, 5.5])


def test_the_cost_of_a_partition_is_the_sum_over_its_intervals() -> None:
    """0.75 and 0.5."""
    assert partition_cost(POSITIONS, COUNTS, STARTS) == 1.25


def test_means_are_exact_beside_a_far_outlier() -> None:
    """Prefix sums lose the digits of small values there."""
    means = interval_means(np.array([-1e17, 1.0, 3.0]), np.ones(3), np.array([0, 1]))

    np.testing.assert_array_equal(means, [-1e17, 2.0])


def test_repeated_numbers_are_dropped() -> None:
    """Of a sorted array."""
    np.testing.assert_array_equal(drop_repeated(np.array([0, 0, 2, 5, 5])), [0, 2, 5])
