"""What is said at the end of a job."""

from __future__ import annotations

from dataclasses import replace

from app.console.summary import Finished
from cnet.results.baseline import TaskScore
from cnet.results.damage import ResultWarning
from cnet.spec import Target
from tests.unit.cnet.points_at_hand import a_baseline, a_point

SCORE = TaskScore("accuracy", "percent", 89.0, 90.5, higher_is_better=True)
BEFORE = replace(a_baseline(), metric=replace(SCORE, value=91.0, validation=92.0))
POINTS = [
    replace(a_point(0, 500, 89.0), metric=SCORE),
    replace(a_point(1, 1500, 91.0), metric=replace(SCORE, value=91.0)),
]


def test_the_selected_point_is_told_with_its_reason_and_what_it_costs() -> None:
    """Size and score before and after, on both splits; then the next command."""
    text = Finished(BEFORE, POINTS, 0, Target(min_ratio=5)).summary(["cnet download job_1 -o model.npz"])

    assert text.splitlines() == [
        "selected: point 0 of 2, the only one with target.min_ratio = 5.0",
        "  size: 4.00 kB as compressed npz → 500 bytes (500 bytes), 8.00 times smaller, 4.00 bits for each value",
        "  accuracy (test): 91.00 % → 89.00 %",
        "  accuracy (validation): 92.00 % → 90.50 %",
        (
            "verdict: measured, accuracy 89 % on the test split, 91 % before compression; the selection used 90.5 % on "
            "the validation split, 92 % before compression"
        ),
        "next: cnet download job_1 -o model.npz",
    ]


def test_the_warnings_about_the_selected_point_are_told() -> None:
    """Behind the verdict, with their codes; those of other points are not."""
    warned = replace(POINTS[0], warnings=(ResultWarning("small_validation", "It is small."),))
    lines = Finished(BEFORE, [warned, POINTS[1]], 0).summary().splitlines()

    assert lines[-1] == "warning: small_validation: It is small."
    assert "warning" not in Finished(BEFORE, [warned, POINTS[1]], 1).summary()


def test_without_a_selected_point_only_their_number_is_told() -> None:
    """As while a job runs."""
    assert Finished(BEFORE, POINTS, None).summary() == "no point is selected; 2 points were made"


def test_results_of_a_server_are_read_with_the_target_of_the_job() -> None:
    """A target that this installation does not know is left out; before the baseline there is nothing."""
    document = {"baseline": BEFORE.to_json(), "points": [point.to_json() for point in POINTS], "selected": 1}

    known = Finished.from_json(document, {"target": {"max_bytes": 2000}})
    unknown = Finished.from_json(document, {"target": {"max_something": 3}})

    assert known is not None
    assert unknown is not None
    assert (known.target, unknown.target) == (Target(max_bytes=2000), None)
    assert "the most accurate of the 2 with target.max_bytes = 2000" in known.summary()
    assert Finished.from_json({"baseline": None, "points": [], "selected": None}, {}) is None
