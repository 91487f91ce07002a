"""Whether the samples that choices are made on can tell the loss that a target allows from chance."""

from __future__ import annotations

import pytest

from cnet.results.resolution import small_validation, small_validation_of_errors


def test_few_samples_are_warned_about_with_their_resolution() -> None:
    """One of 80 samples is 1.25 points; at 96 % the standard error is sqrt(0.96 * 0.04 / 80) = 2.2 points."""
    found = small_validation(80, 1.0, 97.0, "validation")

    assert found is not None
    assert found.code == "small_validation"
    assert found.detail.startswith("the target allows a loss of 1 percentage point, and it is")
    assert "judged on 80 samples of the validation split: one of them is 1.25 points" in found.detail
    assert "at 96 % the standard error is 2.2 points" in found.detail
    assert "About 390 samples tell it" in found.detail


@pytest.mark.parametrize(
    ("samples", "allowed", "percent"), [(400, 1.0, 97.0), (120, 5.0, None), (100, 1.0, 100.0), (10_000, 0.0, 99.0)]
)
def test_enough_samples_are_not_warned_about(samples: int, allowed: float, percent: float | None) -> None:
    """Neither the step nor the standard error is larger than the loss that is allowed."""
    assert small_validation(samples, allowed, percent, "validation") is None


@pytest.mark.parametrize("percent", [100.0, None, 50.0])
def test_the_step_alone_can_be_too_large(percent: float | None) -> None:
    """One of 20 samples is 5 points, whatever the accuracy."""
    assert small_validation(20, 3.0, percent, "test") is not None


def test_an_error_has_a_standard_error_of_its_own() -> None:
    """sqrt(2 / n) of it."""
    found = small_validation_of_errors(50, 0.1, -1.0, "validation")

    assert found is not None
    assert "the standard error of 1 is about 0.2." in found.detail
    assert "About 200 samples tell it" in found.detail
    assert small_validation_of_errors(400, 0.1, -1.0, "validation") is None
    assert small_validation_of_errors(50, 0.0, -1.0, "validation") is None
