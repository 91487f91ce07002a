"""What a search tells of the candidate that it tries."""

from __future__ import annotations

from cnet.search import CandidateGrid, tell_beginning, tell_end, tell_next
from cnet.spec import JobSpec, Target
from tests.unit.cnet.points_at_hand import a_baseline, a_point

GRID = CandidateGrid.of(
    JobSpec.parse({"checkpoint": "c", "architecture": "lenet5", "dataset": "digits", "target": {"min_ratio": 2}})
)
TARGET = Target(max_accuracy_drop=1.0)


def test_the_beginning_says_how_much_may_be_tried() -> None:
    """Of the many candidates only some are tried."""
    told = tell_beginning(GRID)

    assert f"{len(GRID.candidates):,} candidates; at most {GRID.max_points} are tried" in told
    assert f"at most {GRID.max_sparsities} sparsities" in told


def test_each_candidate_is_told_with_the_best_so_far() -> None:
    """The best is the smallest that meets the target, not the most accurate."""
    points = [a_point(0, 900, 90.0), a_point(1, 500, 89.5), a_point(2, 100, 50.0)]
    candidate = GRID.candidates[-1]

    told = tell_next(GRID, candidate, TARGET, a_baseline(), points)

    assert told.startswith(f"search: candidate 4: sparsity {candidate.sparsity:g}, {candidate.quantizer.name}")
    assert told.endswith(
        f"; at most {GRID.max_points - 4} more; best so far: point 1, 8.00 times smaller, accuracy 89.50 %"
    )


def test_a_search_without_a_fitting_point_says_so() -> None:
    """While it runs, and at its end."""
    points = [a_point(0, 100, 50.0), a_point(1, 90, 40.0, sparsity=0.95)]

    assert "none is tried so far" in tell_next(GRID, GRID.candidates[0], TARGET, a_baseline(), [])
    assert "none meets the target so far" in tell_next(GRID, GRID.candidates[0], TARGET, a_baseline(), points)
    assert tell_end(TARGET, a_baseline(), points).startswith("search: ended after 2 candidates of 2 sparsities; none")
