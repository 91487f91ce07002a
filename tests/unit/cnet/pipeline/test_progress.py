"""Expected costs, and the meter."""

from __future__ import annotations

from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.search import CandidateGrid
from tests.unit.cnet.pipeline.small_jobs import Recorder, blobs, training_spec, weights_spec


def test_training_dominates_where_there_is_any() -> None:
    """3 + 2 epochs before the points, 2 + 2 x 1 a sparsity, at three forward passes an image and epoch."""
    effort = StepCosts.of(training_spec(), blobs())
    epoch = 3 * 192
    assert effort.before_points == 5 * epoch + 96
    assert effort.total == 5 * epoch + 96 + 2 * effort.per_sparsity + 4 * effort.per_point
    assert effort.per_sparsity > 2 * epoch
    assert effort.per_point > epoch


def test_checkpoint_costs_no_baseline_training() -> None:
    """It is only evaluated."""
    assert StepCosts.of(training_spec(checkpoint="ckpt_1", baseline=None), blobs()).baseline == 0


def test_a_program_costs_no_baseline_training() -> None:
    """Its own weights are trained on: they are the baseline."""
    spec = training_spec(architecture={"program": "prog_1"}, baseline=None)
    assert StepCosts.of(spec, blobs()).baseline == 0


def test_a_search_counts_its_largest_number_of_points() -> None:
    """Both numbers are known in advance, and are those of the estimate."""
    spec = weights_spec(prune=None, target={"min_ratio": 2})
    effort, grid = StepCosts.of(spec, None), CandidateGrid.of(spec)
    assert (effort.sparsities, effort.points) == (grid.max_sparsities, grid.max_points)
    assert effort.points < len(grid.candidates)


def test_meter_never_falls_and_stops_at_one() -> None:
    """Going back in position tells nothing; going beyond the end tells 1."""
    recorder = Recorder()
    meter = ProgressMeter(recorder, 10.0)
    meter.advance(5.0)
    meter.within(2.0)(0.5)
    meter.seek(1.0)
    meter.advance(1.0)
    meter.seek(20.0)
    meter.finish()
    assert recorder.of("progress") == [0.5, 0.6, 1.0]
