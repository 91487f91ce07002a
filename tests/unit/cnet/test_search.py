"""Selection of a point, and the search for a sparsity."""

from __future__ import annotations

from typing import Any

import pytest

from cnet.errors import ConstraintNotMetError
from cnet.points import Point
from cnet.prune import Pruner
from cnet.search import LADDER, SEARCH_STEPS, searches, select, sparsities
from cnet.spec import JobSpec, Target
from tests.unit.cnet.points_at_hand import a_baseline, a_point

ACCURATE = [a_point(0, 900, 90.0), a_point(1, 500, 89.2), a_point(2, 300, 88.0), a_point(3, 200, 60.0)]
BLIND = [a_point(0, 900, mse=1e-6), a_point(1, 500, mse=1e-4), a_point(2, 400, mse=1e-5)]


def _spec(**members: Any) -> JobSpec:
    return JobSpec.parse({"checkpoint": "ckpt_1", **members})


@pytest.mark.parametrize(("drop", "index"), [(0.0, 0), (0.5, 0), (0.8, 1), (2.0, 2), (50.0, 3)])
def test_accuracy_drop_selects_the_smallest_that_meets_it(drop: float, index: int) -> None:
    """A drop of exactly the limit passes, whatever rounding the subtraction brings."""
    assert select(Target(max_accuracy_drop=drop), a_baseline(), ACCURATE) == index


@pytest.mark.parametrize(("limit", "index"), [(1000, 0), (899, 1), (500, 1), (200, 3)])
def test_max_bytes_selects_the_most_accurate_that_fits(limit: int, index: int) -> None:
    """A file of exactly the limit fits."""
    assert select(Target(max_bytes=limit), a_baseline(), ACCURATE) == index


@pytest.mark.parametrize(("ratio", "index"), [(1.0, 0), (8.0, 1), (8.1, 2), (20.0, 3)])
def test_min_ratio_selects_the_most_accurate_that_fits(ratio: float, index: int) -> None:
    """The ratio is npz of the original to the whole bundle."""
    assert select(Target(min_ratio=ratio), a_baseline(), ACCURATE) == index


def test_size_target_without_accuracies_selects_the_lowest_mse() -> None:
    """Point 1 is larger and worse than point 2; point 0 does not fit."""
    assert select(Target(max_bytes=500), a_baseline(None), BLIND) == 2


def test_no_target_selects_the_smallest_within_one_point() -> None:
    """89.2 is within one point of 90; 88 is not."""
    assert select(None, a_baseline(), ACCURATE) == 1


def test_no_target_and_all_points_bad_selects_the_most_accurate() -> None:
    """None is within one point of the baseline."""
    assert select(None, a_baseline(), ACCURATE[2:]) == 2


def test_no_target_and_no_accuracies_selects_the_smallest() -> None:
    """There is nothing else to go by."""
    assert select(None, a_baseline(None), BLIND) == 2


def test_equal_accuracies_select_the_smaller_file_and_then_the_first() -> None:
    """Selection is a total order: nothing depends on chance."""
    points = [a_point(0, 400, 90.0), a_point(1, 300, 90.0), a_point(2, 300, 90.0)]
    assert select(Target(max_bytes=1000), a_baseline(), points) == 1


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
        select(target, a_baseline(), ACCURATE[1:])
    assert all(word in caught.value.detail for word in words)
    assert caught.value.code == "constraint_not_met"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, False),
        ({"target": {"min_ratio": 3}}, True),
        ({"target": {"min_ratio": 3}, "prune": {"name": "magnitude"}}, True),
        ({"target": {"min_ratio": 3}, "prune": {"name": "magnitude", "sparsity": 0.5}}, False),
        ({"prune": {"name": "magnitude"}}, False),
    ],
)
def test_search_happens_where_a_target_stands_without_a_sparsity(members: dict[str, Any], expected: bool) -> None:
    """A pruner named without a sparsity is searched as well."""
    assert searches(_spec(**members)) is expected


def test_ladder_is_ascending_and_halves_evenly() -> None:
    """31 distinct sparsities: every search takes exactly the documented number of steps."""
    assert list(LADDER) == sorted(set(LADDER))
    assert len(LADDER) == 2**SEARCH_STEPS - 1
    assert LADDER[len(LADDER) // 2] == 0.9


def _searched(target: dict[str, Any], make: Any) -> list[float]:
    """The sparsities of a search whose points ``make`` makes."""
    spec = JobSpec.parse(
        {
            "checkpoint": "ckpt_1",
            "architecture": {"name": "lenet5"},
            "dataset": "digits",
            "target": target,
        }
    )
    pruner = spec.resolved().prune
    assert isinstance(pruner, Pruner)
    points: list[Point] = []
    tried = []
    for sparsity in sparsities(spec, pruner, a_baseline(), points):
        tried.append(sparsity)
        points.append(make(len(points), sparsity))
    return tried


def test_search_finds_the_highest_sparsity_that_keeps_the_accuracy() -> None:
    """Accuracy falls below the limit above 0.96: 0.96 is tried, and the next of the ladder."""
    tried = _searched({"max_accuracy_drop": 1.0}, lambda i, s: a_point(i, 500, 90.0 if s <= 0.96 else 80.0, sparsity=s))
    assert tried[0] == 0.9
    assert {0.96, 0.965} <= set(tried)
    assert len(tried) == SEARCH_STEPS


def test_search_finds_the_lowest_sparsity_that_is_small_enough() -> None:
    """A file of at most 300 bytes needs 0.7 here: 0.7 is tried, and the one before it."""
    tried = _searched({"max_bytes": 300}, lambda i, s: a_point(i, round(1000 * (1 - s)), 90.0 - s, sparsity=s))
    assert {0.65, 0.7} <= set(tried)
    assert len(tried) == SEARCH_STEPS


def test_search_goes_to_the_end_of_the_ladder() -> None:
    """A net that bears everything ends at the highest sparsity."""
    assert _searched({"max_accuracy_drop": 1.0}, lambda i, _: a_point(i, 500, 90.0))[-1] == LADDER[-1]


def test_named_sparsities_are_made_in_the_order_given() -> None:
    """No search where the job names them."""
    spec = _spec(prune={"name": "magnitude", "sparsity": [0.9, 0.5]}, target={"min_ratio": 2})
    pruner = spec.prune
    assert isinstance(pruner, Pruner)
    assert list(sparsities(spec, pruner, a_baseline(), [])) == [0.9, 0.5]
