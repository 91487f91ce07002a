"""How sensitive the outputs of a network are to its weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cnet.calibrate.sensitivity import mean_fisher
from cnet.observer import SilentObserver
from cnet.training.tasks import TASKS


class Steps(nn.Module):
    """One layer, whose classes are those of so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 5)
        self.steps = steps

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of the shape (batch, steps, classes)."""
        logits: Tensor = self.layer(inputs)
        return logits[:, None].expand(-1, self.steps, -1)


def sensitivity(steps: int) -> float:
    """Of the layer, on 400 inputs."""
    torch.manual_seed(0)
    module = Steps(steps).eval()
    samples = [(torch.randn(1, 4),) for _ in range(400)]
    task = TASKS.create("classification")
    return mean_fisher(module, {"w": module.layer.weight}, samples, task, SilentObserver(), lambda _: None)["w"]


def test_several_decisions_of_a_sample_count_as_their_mean() -> None:
    """The divergence of a line of text is the mean over its steps."""
    assert sensitivity(8) == pytest.approx(sensitivity(1), rel=0.2)
