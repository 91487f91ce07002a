"""Selection of a point."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cnet.errors import ConstraintNotMetError
from cnet.search import select_point
from cnet.search.selection import selection_reason
from cnet.spec import Target
from tests.unit.cnet.points_at_hand import a_baseline, a_point

ACCURATE = [a_point(0, 900, 90.0), a_point(1, 500, 89.2), a_point(2, 300, 88.0), a_point(3, 200, 60.0)]
BLIND = [a_point(0, 900, mse=1e-6), a_point(1, 500, mse=1e-4), a_point(2, 400, mse=1e-5)]


@pytest.mark.parametrize(("drop", "index"), [(0.0, 0), (0.5, 0), (0.8, 1), (2.0, 2), (50.0, 3)])
def test_accuracy_drop_selects_the_smallest_that_meets_it(drop: float, index: int) -> None:
    """A drop of exactly the limit passes, whatever rounding the subtraction brings."""
    assert select_point(Target(max_accuracy_drop=drop), a_baseline(), ACCURATE) == index


@pytest.mark.parametrize(("limit", "index"), [(1000, 0), (899, 1), (500, 1), (200, 3)])
def test_max_bytes_selects_the_most_accurate_that_fits(limit: int, index: int) -> None:
    """A file of exactly the limit fits."""
    assert select_point(Target(max_bytes=limit), a_baseline(), ACCURATE) == index


@pytest.mark.parametrize(("ratio", "index"), [(1.0, 0), (8.0, 1), (8.1, 2), (20.0, 3)])
def test_min_ratio_selects_the_most_accurate_that_fits(ratio: float, index: int) -> None:
    """The ratio is npz of the original to the whole bundle."""
    assert select_point(Target(min_ratio=ratio), a_baseline(), ACCURATE) == index


def test_size_target_without_accuracies_selects_the_lowest_mse() -> None:
    """Point 1 is larger and worse than point 2; point 0 does not fit."""
    assert select_point(Target(max_bytes=500), a_baseline(None), BLIND) == 2


def test_no_target_selects_the_smallest_within_one_point() -> None:
    """89.2 is within one point of 90; 88 is not."""
    assert select_point(None, a_baseline(), ACCURATE) == 1


@pytest.mark.parametrize(
    ("target", "order"),
    [
        (Target(max_kl=0.5), "smallest"),
        (Target(min_agreement=50), "smallest"),
        (Target(max_accuracy_drop=90), "smallest"),
        (Target(max_bytes=10**6), "most accurate"),
    ],
)
def test_the_reason_names_the_order_of_the_selection(target: Target, order: str) -> None:
    """Of the points that meet a limit of the size the best is selected, otherwise the smallest."""
    points = [replace(point, kl=0.1, agreement=99.0) for point in ACCURATE]
    selected = points[select_point(target, a_baseline(), points)]

    assert selection_reason(target, a_baseline(), points, selected).startswith(f"the {order} of the {len(points)} with")


def test_the_reason_states_the_drop_with_its_unit() -> None:
    """One percentage point is singular."""
    reason = selection_reason(None, a_baseline(), ACCURATE, ACCURATE[1])

    limit = "a loss of at most 1 percentage point on the test split, the limit for a job without a target"
    assert reason == f"the smallest of the 2 with {limit}"


def test_no_target_and_all_points_bad_selects_the_most_accurate() -> None:
    """None is within one point of the baseline."""
    assert select_point(None, a_baseline(), ACCURATE[2:]) == 2


def test_no_target_and_no_accuracies_selects_the_smallest() -> None:
    """There is nothing else to go by."""
    assert select_point(None, a_baseline(None), BLIND) == 2


def test_equal_accuracies_select_the_smaller_file_and_then_the_first() -> None:
    """Selection is a total order: nothing depends on chance."""
    points = [a_point(0, 400, 90.0), a_point(1, 300, 90.0), a_point(2, 300, 90.0)]
    assert select_point(Target(max_bytes=1000), a_baseline(), points) == 1


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(max_accuracy_drop=0.0), ["max_accuracy_drop = 0.0", "90.00 %", "89.20 %"]),
        (Target(max_bytes=10), ["max_bytes = 10", "200 bytes"]),
        (Target(min_ratio=1000.5), ["min_ratio = 1000.5", "20.00 times"]),
    ],
)
def test_no_point_meets_the_target(target: Target, words: list[str]) -> None:
    """The error says what was wanted and how near the points came."""
    with pytest.raises(ConstraintNotMetError) as caught:
        select_point(target, a_baseline(), ACCURATE[1:])
    assert all(word in caught.value.detail for word in words)
    assert caught.value.code == "constraint_not_met"
