"""What the net is to learn: the labels, or what another net says."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn, no_grad
from torch.nn import functional

from cnet.training.config import Distill
from cnet.weights import Weights


class Task:
    """Mean cross-entropy with the labels."""

    def loss(self, x: Tensor, outputs: Tensor, y: Tensor) -> Tensor:
        """A scalar, mean over the batch, in nats.

        Args:
            x: what the net took in.
            outputs: float32, shape (batch, outputs).
            y: int64 labels, shape (batch,).
        """
        del x
        return functional.cross_entropy(outputs, y)


@dataclass(frozen=True, eq=False)
class Distillation:
    """A net to learn from, and how."""

    teacher: Weights
    settings: Distill


class Distilled(Task):
    """(1 - share) times the loss with the labels, plus share T² times the divergence from the teacher's soft outputs.

    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015. Outputs are softened by the
    temperature T; T² keeps the gradients' size independent of it. With a share of 1 labels are not looked at.

    Args:
        teacher: a module on the images' device; put into evaluation mode.
        settings: temperature and share.

    """

    def __init__(self, teacher: nn.Module, settings: Distill) -> None:
        self._teacher = teacher.eval()
        self._settings = settings

    def loss(self, x: Tensor, outputs: Tensor, y: Tensor) -> Tensor:
        """As ``Task.loss``; 0 where share is 1 and both nets say the same."""
        temperature, share = self._settings.temperature, self._settings.share
        with no_grad():
            told = (self._teacher(x).float() / temperature).log_softmax(1)
        said = (outputs / temperature).log_softmax(1)
        soft = functional.kl_div(said, told, reduction="batchmean", log_target=True)
        soft = share * temperature**2 * soft
        return soft if share == 1 else soft + (1 - share) * super().loss(x, outputs, y)
