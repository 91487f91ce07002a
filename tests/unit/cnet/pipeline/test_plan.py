"""The parts of a job with all defaults filled in."""

from __future__ import annotations

from cnet.pipeline.plan import CompressionPlan, TrainingPlan
from tests.unit.cnet.pipeline.small_jobs import training_spec, weights_spec


def test_a_job_without_a_data_set_has_no_trainings() -> None:
    """Its method works on the weights alone."""
    spec = weights_spec(method={"name": "cnet", "lambda": 0.3})

    plan = CompressionPlan.of(spec)

    assert TrainingPlan.of(spec) is None
    assert plan.method is not None
    assert (plan.pruner.name, plan.encoder.name) == ("magnitude", "compact")


def test_trainings_after_pruning_have_their_own_epochs_and_a_falling_rate() -> None:
    """They start at the learning rate of the fine-tuning, unless the job names another."""
    spec = training_spec(recover={"epochs": 2, "centroid_epochs": 1, "learning_rate": 0.01})

    plan = TrainingPlan.of(spec)

    assert CompressionPlan.of(spec).method is None
    assert plan is not None
    assert (plan.baseline.epochs, plan.finetune.epochs, plan.recover.epochs, plan.centroids.epochs) == (3, 2, 2, 1)
    assert plan.recover.optimizer.learning_rate == plan.centroids.optimizer.learning_rate == 0.01
    assert plan.finetune.optimizer.learning_rate != 0.01
    assert plan.recover.schedule.name == "cosine"


def test_gradual_pruning_keeps_the_rate_of_the_fine_tuning() -> None:
    """It has no epochs where the pruner prunes all at once."""
    gradual = TrainingPlan.of(training_spec(prune={"name": "magnitude", "sparsity": 0.5, "gradual": {"epochs": 4}}))
    at_once = TrainingPlan.of(training_spec(prune={"name": "magnitude", "sparsity": 0.5, "gradual": {"epochs": 0}}))

    assert gradual is not None
    assert at_once is not None
    assert (gradual.gradual.epochs, at_once.gradual.epochs) == (4, 0)
    assert gradual.gradual.schedule.name == "constant"
    assert gradual.gradual.optimizer == gradual.finetune.optimizer
