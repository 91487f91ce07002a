"""The learning rate for a network that was trained elsewhere: the largest one whose first steps do it no harm."""

from __future__ import annotations

import pytest

from cnet.methods import METHODS
from cnet.training.rate_trial import RATES, STEPS, try_rates
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Weights
from tests.small_training import Recorder, same_bits, small_trainer, small_training

STAGE = TrainingStage("finetune", small_training(), METHODS.create("cnet"))
PENALIZED = TrainingStage("finetune", small_training(), METHODS.create("l1", **{"lambda": 1e3}))


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    """Of a small network."""
    return small_trainer()


@pytest.fixture(scope="module")
def trained(trainer: Trainer) -> Weights:
    """Weights that know the training data."""
    return trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=20)))


def test_a_robust_network_gets_the_default_rate(trainer: Trainer, trained: Weights) -> None:
    """After one trial."""
    trial = try_rates(trainer, trained, STAGE, 30)

    assert (trial.rate, len(trial.after), trial.steps) == (RATES[0], 1, STEPS[0])


def test_rates_at_which_the_penalty_wins_are_not_taken(trainer: Trainer, trained: Weights) -> None:
    """It moves each weight by the rate in each step, towards zero."""
    trial = try_rates(trainer, trained, PENALIZED, 300)

    assert trial.rate < RATES[0]
    assert trial.after[0] > 10 * max(trial.before, 0.05) > trial.after[-1]
    assert f"after {STEPS[1]} steps at 0.003: " in str(trial)


def test_trials_change_nothing_and_are_repeatable(trained: Weights) -> None:
    """The weights stay as they are, and nothing is reported as a metric."""
    before, observer = trained.with_vector(trained.vector().copy()), Recorder()
    observed = small_trainer(observer=observer)

    one, two = (try_rates(observed, trained, PENALIZED, 300) for _ in range(2))

    assert one == two
    assert same_bits(before, trained)
    assert observer.metrics == []
