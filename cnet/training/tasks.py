"""What a network learns: the labels of the images, or also the outputs of another network."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn, no_grad
from torch.nn import functional

from cnet.training.config import Distill


class Task(Protocol):
    """The loss that a training minimizes, before its method adds anything."""

    def loss(self, inputs: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of a batch, a scalar, float32.

        Args:
            inputs: what the network took in, shape (batch, ...), float32.
            outputs: what it gave, shape (batch, outputs), float32.
            targets: what it should give; for a classification labels, shape (batch,), int64.

        """


class Classification:
    """Mean cross-entropy with the labels, in nats."""

    def loss(self, inputs: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.loss``."""
        del inputs
        return functional.cross_entropy(outputs, targets)


class DistilledClassification(Classification):
    """(1 - share) times the loss with the labels, plus share T² times the divergence from the teacher's soft outputs.

    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015. Outputs are softened by the
    temperature T; T² keeps the size of the gradients independent of it. With a share of 1 the labels are not used.

    Args:
        teacher: a module on the images' device; put into evaluation mode.
        settings: temperature and share.

    """

    def __init__(self, teacher: nn.Module, settings: Distill) -> None:
        self._teacher = teacher.eval()
        self._settings = settings

    def loss(self, inputs: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.loss``; 0 where the share is 1 and both networks give the same outputs."""
        temperature, share = self._settings.temperature, self._settings.share
        with no_grad():
            expected = (self._teacher(inputs).float() / temperature).log_softmax(1)
        found = (outputs / temperature).log_softmax(1)
        soft = functional.kl_div(found, expected, reduction="batchmean", log_target=True)
        soft = share * temperature**2 * soft
        return soft if share == 1 else soft + (1 - share) * super().loss(inputs, outputs, targets)
