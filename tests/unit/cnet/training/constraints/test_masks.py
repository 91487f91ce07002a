"""Training with pruned weights held at zero."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from cnet.methods import METHODS
from cnet.training.config import Optimizer
from cnet.training.constraints import FixedMask
from cnet.training.stage import TrainingStage
from cnet.weights import Selection, Weights
from tests.small_training import Recorder, small_trainer, small_training

OPTIMIZERS = [
    Optimizer(name="sgd", learning_rate=0.05, momentum=0.95, weight_decay=0.01),
    Optimizer(name="sgd", learning_rate=0.05, nesterov=True),
    Optimizer(name="adam", learning_rate=0.003, weight_decay=0.01),
    Optimizer(name="adamw", learning_rate=0.003, weight_decay=0.1),
]


def half(weights: Weights) -> npt.NDArray[np.bool_]:
    """The mask of the larger half of w_net."""
    magnitude = np.abs(weights.vector())
    larger: npt.NDArray[np.bool_] = magnitude > np.median(magnitude)
    return larger


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_pruned_weights_end_as_positive_zeros(optimizer: Optimizer) -> None:
    """Momentum and weight decay do not bring them back; the others move."""
    trainer = small_trainer()
    start = trainer.initial(0)
    keep = half(start)
    stage = TrainingStage("recover", small_training(optimizer=optimizer), METHODS.create("cnet"), keep)
    vector = trainer.train(start, stage).vector()
    assert not vector[~keep].view(np.uint32).any()
    assert (vector[keep] != start.vector()[keep]).mean() > 0.9


def test_pruned_weights_are_zero_after_every_step_and_gather_no_momentum() -> None:
    """Checked in the module and in the optimizer's state."""
    module = torch.nn.Linear(6, 3)
    weight = module.weight
    keep = np.arange(18) % 3 == 0
    masked = FixedMask([weight], keep)
    optimizer = torch.optim.SGD(masked.parameters(module), lr=0.1, momentum=0.9, weight_decay=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        module(torch.ones(2, 6)).square().sum().backward()
        masked.before_step()
        optimizer.step()
        masked.after_step()
        flat = weight.detach().reshape(-1).numpy()
        assert not flat[~keep].view(np.uint32).any()
    assert not optimizer.state[weight]["momentum_buffer"].reshape(-1)[torch.from_numpy(~keep)].any()


def test_recovery_regains_accuracy() -> None:
    """Training the weights that are left lowers the loss that pruning raised."""
    trainer = small_trainer()
    trained = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=15)))
    magnitude = np.abs(trained.vector())
    keep = magnitude > np.quantile(magnitude, 0.97)
    pruned = trainer.train(trained, TrainingStage("recover", small_training(epochs=0), mask=keep))
    recovered = trainer.train(trained, TrainingStage("recover", small_training(epochs=10), mask=keep))
    assert trainer.evaluate(recovered).loss < trainer.evaluate(pruned).loss
    assert trainer.evaluate(recovered).accuracy >= trainer.evaluate(pruned).accuracy


def test_no_epochs_prune_and_leave_the_rest() -> None:
    """The weights that are not pruned keep their bits."""
    trainer = small_trainer()
    start = trainer.initial(0)
    keep = half(start)
    pruned = trainer.train(start, TrainingStage("recover", small_training(epochs=0), mask=keep))
    assert np.array_equal(pruned.vector(), np.where(keep, start.vector(), 0))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_masks_of_ones_and_of_zeros(share: float) -> None:
    """A mask of ones changes nothing; with a mask of zeros only biases are trained."""
    trainer = small_trainer()
    start = trainer.initial(0)
    keep = np.full(start.compressible_parameters, bool(share))
    trained = trainer.train(start, TrainingStage("recover", small_training(epochs=1), mask=keep))
    free = trainer.train(start, TrainingStage("recover", small_training(epochs=1)))
    assert np.array_equal(trained.vector(), free.vector() if share else np.zeros_like(start.vector()))


def test_buffers_can_be_pruned_too() -> None:
    """Running statistics that a user selected are held at zero like weights."""
    trainer = small_trainer("resnet20", selection=Selection(include=("*.running_mean",)))
    start = trainer.initial(0)
    keep = np.zeros(start.compressible_parameters, np.bool_)
    trained = trainer.train(start, TrainingStage("recover", small_training(epochs=1), mask=keep))
    assert not trained["bn1.running_mean"].data.any()
    assert trained["bn1.running_var"].data.any()


def test_metrics_name_the_stage() -> None:
    """Metrics carry the stage's name."""
    observer = Recorder()
    trainer = small_trainer(observer=observer)
    start = trainer.initial(0)
    trainer.train(start, TrainingStage("recover", small_training(epochs=1), mask=half(start)))
    assert {row["phase"] for row in observer.metrics} == {"recover"}
