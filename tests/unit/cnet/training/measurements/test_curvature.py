"""The diagonal of the Fisher information, compared with its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from cnet.errors import TrainingError
from cnet.observer import SilentObserver
from cnet.training.device_splits import DeviceSplit, Scaling
from cnet.training.measurements.curvature import fisher_diagonal
from cnet.training.tasks.classification import Classification
from tests.small_training import small_trainer


def images(count: int) -> DeviceSplit:
    """A split of so many random images of shape (1, 1, 3)."""
    x = torch.randn(count, 1, 1, 3, generator=torch.Generator().manual_seed(0))
    return DeviceSplit((x,), torch.zeros(count, dtype=torch.int64), (Scaling(),))


def test_curvature_is_the_expectation_over_predicted_labels() -> None:
    """The expectation over images and predicted labels of the squared gradient of one image's loss."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(3, 4))
    with torch.no_grad():
        module[1].weight.copy_(torch.randn(4, 3, generator=torch.Generator().manual_seed(1)))
        module[1].bias.zero_()
    weight, data = module[1].weight, images(4096)
    exact = torch.zeros(4, 3, dtype=torch.float64)
    with torch.no_grad():
        chances = module(data.inputs[0]).softmax(1).double()
    for label in range(4):
        # d loss / d logits = p - onehot, and the weight's gradient its outer product with the input.
        outer = (chances - functional.one_hot(torch.tensor(label), 4)).square()
        exact += torch.einsum("n,no,ni->oi", chances[:, label], outer, data.inputs[0].reshape(-1, 3).double().square())
    exact /= len(data)
    (found,) = fisher_diagonal(module, [weight], data, SilentObserver(), Classification())
    assert torch.allclose(found, exact, rtol=0.35)  # 256 batches: a standard deviation of about 0.09
    assert (found / exact).mean().sub(1).abs() < 0.08


def test_curvature_is_reproducible_and_zero_for_dead_inputs() -> None:
    """Weights of a pixel that is black in all images have no information."""
    trainer = small_trainer()
    dataset = trainer.dataset
    dataset.train.input[:, :, 0, 0] = 0
    weights = trainer.initial(0)
    found = trainer.curvature(weights)
    assert found.dtype == np.float64
    assert found.shape == (weights.compressible_parameters,)
    assert np.array_equal(found, small_trainer(dataset=dataset).curvature(weights))
    first = found[: weights["fc1.weight"].size].reshape(weights["fc1.weight"].shape)
    assert not first[:, 0].any()
    assert first[:, 1:].any()


def test_outputs_that_are_not_finite_are_an_error() -> None:
    """Infinite weights have no curvature."""
    trainer = small_trainer()
    weights = trainer.initial(0)
    broken = weights.with_vector(np.full(weights.compressible_parameters, np.inf, np.float32))

    with pytest.raises(TrainingError) as caught:
        trainer.curvature(broken)
    assert caught.value.code == "not_finite"
