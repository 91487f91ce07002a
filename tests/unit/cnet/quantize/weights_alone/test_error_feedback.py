"""Error feedback: its closed form is the recursion of optimal brain surgeon for the matrix that is assumed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.coding.segments import segments_of
from cnet.quantize.weights_alone.error_feedback import KERNEL_MEAN, ROW_MEAN, FeedbackFactors


def rounded(values: npt.NDArray[np.float64], hessian: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """One row rounded by the recursion itself: each error moves all later weights by the inverse of what is left."""
    moved, found = values.copy(), np.empty_like(values)
    for place in range(len(values)):
        found[place] = np.rint(moved[place])
        inverse = np.linalg.inv(hessian[place:, place:])
        moved[place:] -= (moved[place] - found[place]) / inverse[0, 0] * inverse[:, 0]
    return found


def test_the_closed_form_is_the_recursion() -> None:
    """For a row of 40 weights whose inputs share a mean."""
    values = np.random.default_rng(0).normal(size=40) * 3
    factors = FeedbackFactors.of(segments_of([(1, 40)])[0], feedback=True)
    found, errors = np.empty(40), 0.0
    for place in range(40):
        found[place] = np.rint(values[place] - float(factors.row[place]) * errors)
        errors += found[place] - values[place]

    np.testing.assert_array_equal(found, rounded(values, np.eye(40) + ROW_MEAN))


def test_harm_is_what_later_weights_cannot_make_up_for() -> None:
    """The reciprocal of the leading entry of the inverse, for a kernel by itself."""
    factors = FeedbackFactors.of(segments_of([(4, 1, 3, 3)])[0], feedback=True)
    kernel = [1 / np.linalg.inv(np.eye(left) + KERNEL_MEAN)[0, 0] for left in range(9, 0, -1)]
    row = [1 / np.linalg.inv(np.eye(left) + ROW_MEAN)[0, 0] for left in range(9, 0, -1)]

    np.testing.assert_allclose(factors.harm[:9], np.multiply(kernel, row), rtol=1e-6)


def test_sums_begin_with_rows_kernels_and_lanes() -> None:
    """A row of 30 kernels of 9 weights, in lanes of 288 weights."""
    factors = FeedbackFactors.of(segments_of([(4, 30, 3, 3)])[0], feedback=True)

    np.testing.assert_array_equal(np.flatnonzero(factors.starts_kernel), np.arange(0, 1080, 9))
    np.testing.assert_array_equal(np.flatnonzero(factors.starts_row), [0, 270, 288, 540, 576, 810, 864])


def test_without_feedback_errors_stand_for_themselves() -> None:
    """As in a vector, whose entries have no inputs in common."""
    factors = FeedbackFactors.of(segments_of([(50,)])[0], feedback=False)

    assert not factors.kernel.any()
    assert not factors.row.any()
    assert np.all(factors.harm == 1)
