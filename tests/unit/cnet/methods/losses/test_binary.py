"""Binary: two values for each tensor, and the gradient of the real weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet.methods import METHODS, StepContext
from cnet.quantize import QUANTIZERS
from cnet.training.config import Optimizer
from cnet.training.stage import TrainingStage
from tests.small_training import small_trainer, small_training


def weights() -> dict[str, torch.nn.Parameter]:
    """Three tensors; the first has a zero and a weight beyond 1."""
    first = torch.tensor([[0.5, -0.1, 0.0], [-2.0, 0.2, -0.2]])
    return {"a": torch.nn.Parameter(first), "b": torch.nn.Parameter(first / 2), "c": torch.nn.Parameter(first / 4)}


def test_the_net_computes_with_signs_times_the_mean_magnitude() -> None:
    """The mean magnitude of the first tensor is 3.0 / 6."""
    seen = METHODS.create("binary").hooks().reparametrize(weights(), StepContext(0, 1))
    assert seen["a"].tolist() == [pytest.approx([0.5, -0.5, 0.5]), pytest.approx([-0.5, 0.5, -0.5])]
    assert seen["c"].abs().flatten().tolist() == pytest.approx([0.125] * 6)


def test_the_scale_is_that_of_least_error() -> None:
    """Any other scale has a larger squared error."""
    net = weights()
    values = net["a"].detach()
    signs = METHODS.create("binary").hooks().reparametrize(net, StepContext(0, 1))["a"].detach().sign()
    errors = [float((values - scale * signs).square().sum()) for scale in (0.4, 0.5, 0.6)]
    assert errors[1] == min(errors)


def test_gradients_go_straight_through() -> None:
    """The gradient of the real weights is that of the binary ones."""
    net = weights()
    outer = torch.arange(6.0).reshape(2, 3)
    (METHODS.create("binary").hooks().reparametrize(net, StepContext(0, 1))["a"] * outer).sum().backward()
    assert net["a"].grad is not None
    assert torch.equal(net["a"].grad, outer)


def test_weights_are_clipped_after_a_step_and_the_ends_can_be_left_out() -> None:
    """The first and the last tensor stay real with ``ends=False``."""
    net = weights()
    with torch.no_grad():
        METHODS.create("binary").hooks().after_step(net, StepContext(0, 1))
    assert net["a"].min() == -1
    assert set(METHODS.create("binary", ends=False).hooks().reparametrize(net, StepContext(0, 1))) == {"b"}


def test_training_ends_with_two_values_a_tensor_that_still_classify() -> None:
    """The quantizer then represents them exactly."""
    trainer = small_trainer()
    start = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=10)))
    made = TrainingStage(
        "finetune", small_training(epochs=20, optimizer=Optimizer(learning_rate=0.001)), METHODS.create("binary")
    )
    trained = trainer.train(start, made)
    assert all(len(np.unique(trained[name].values())) == 2 for name in trained.compressible)
    assert trainer.evaluate(trained).accuracy >= 90
    vector = trained.vector()
    assert np.array_equal(QUANTIZERS.create("kmeans").symbols(vector, vector != 0, 6).vector(), vector)
