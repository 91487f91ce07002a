"""When data cannot judge a network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cnet.results.baseline import BaselineResult, TaskScore
from cnet.results.damage import ResultWarning, verdict
from cnet.results.data_doubts import baseline_at_chance, one_class, validation_seen
from tests.unit.cnet.points_at_hand import a_baseline, a_point

SAMPLES = {"train": 900, "validation": 100, "test": 500}


def scored(value: float, validation: float | None = None) -> BaselineResult:
    """A network with an accuracy on the test split, and one on the validation split."""
    return replace(a_baseline(), metric=TaskScore("accuracy", "percent", value, validation, higher_is_better=True))


def erring(value: float, validation: float | None = None) -> BaselineResult:
    """The same for a mean squared error."""
    return replace(a_baseline(), metric=TaskScore("mse", "", value, validation, higher_is_better=False))


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ({"train": 1, "validation": 1, "test": 1}, "splits train, validation, test have"),
        ({"train": 10, "validation": 9, "test": 1}, "split test have"),
        ({"train": 10, "validation": 9, "test": 10}, None),
        ({}, None),
    ],
)
def test_splits_of_one_class_are_named(labels: dict[str, int], named: str | None) -> None:
    """A split of several classes is not."""
    found = one_class(labels, SAMPLES)

    assert (found is None) == (named is None)
    assert found is None or (found.code == "one_class" and str(named) in found.detail)


def test_a_split_of_one_sample_has_one_class_by_nature() -> None:
    """It is too small, which another warning says."""
    assert one_class({"train": 3, "test": 1}, {"train": 9, "test": 1}) is None


@pytest.mark.parametrize(
    ("baseline", "guess", "warned"),
    [
        (scored(5.8), 10.0, True),
        (scored(10.0), 10.0, True),
        (scored(40.0), 10.0, False),
        (erring(2.0), 1.0, True),
        (erring(0.5), 1.0, False),
        (scored(5.8), None, False),
    ],
)
def test_a_network_that_is_no_better_than_a_guess(baseline: BaselineResult, guess: float | None, warned: bool) -> None:
    """Where the task knows what a guess has."""
    found = baseline_at_chance(baseline, guess)

    assert (found is not None) == warned
    assert found is None or found.code == "baseline_at_chance"


@pytest.mark.parametrize(
    ("baseline", "warned"),
    [
        (scored(90.0, 100.0), True),
        (scored(97.0, 98.5), False),
        (scored(90.0, 94.0), False),
        (scored(90.0), False),
        (erring(1.0, 0.2), True),
        (erring(1.0, 0.8), False),
    ],
)
def test_a_validation_score_that_is_too_good(baseline: BaselineResult, warned: bool) -> None:
    """By more than chance, and by more than matters."""
    found = validation_seen(baseline, SAMPLES)

    assert (found is not None) == warned
    assert found is None or "x_validation and y_validation" in found.detail


def test_the_verdict_says_that_the_data_do_not_tell() -> None:
    """Where all samples have one label, or the original was no better than a guess."""
    point = replace(a_point(0, 100, 5.8), metric=scored(5.8).metric)
    doubted = replace(point, warnings=(ResultWarning("one_class", "One."),))

    assert verdict(scored(5.8), point).startswith("verdict: measured, ")
    assert verdict(scored(5.8), doubted).startswith("verdict: measured on data that do not tell, ")
