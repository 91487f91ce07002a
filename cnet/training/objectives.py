"""The loss that a training minimizes: that of its task alone, or also the distance from another network's outputs."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn, no_grad

from cnet.training.config import Distill
from cnet.training.tasks import Task


class Objective:
    """The loss of a task, before a method adds anything.

    Args:
        task: what the network learns.
    """

    def __init__(self, task: Task) -> None:
        self.task = task

    def loss(self, inputs: Sequence[Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of a batch, a scalar, float32.

        Args:
            inputs: what the network took in, each of shape (batch, ...).
            outputs: what it gave, shape (batch, ...), float32.
            targets: what it should give, shape (batch, ...).

        """
        del inputs
        return self.task.loss(outputs, targets)


class DistilledObjective(Objective):
    """(1 - share) times the loss of the task, plus share T² times the soft loss from the teacher's outputs.

    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015. Outputs are softened by the
    temperature T; T² keeps the size of the gradients independent of it. With a share of 1 the targets are not used.

    Args:
        task: what the network learns beside.
        teacher: a module on the device of the inputs; put into evaluation mode.
        settings: temperature and share.

    """

    def __init__(self, task: Task, teacher: nn.Module, settings: Distill) -> None:
        super().__init__(task)
        self._teacher = teacher.eval()
        self._settings = settings

    def loss(self, inputs: Sequence[Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Objective.loss``; 0 where the share is 1 and both networks give the same outputs."""
        temperature, share = self._settings.temperature, self._settings.share
        with no_grad():
            expected = self._teacher(*inputs).float()
        soft = share * temperature**2 * self.task.soft_loss(outputs, expected, temperature)
        return soft if share == 1 else soft + (1 - share) * super().loss(inputs, outputs, targets)
