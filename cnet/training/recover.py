"""Training with weights tied down: the pruned pinned at zero, or all of them held where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import Parameter


class Free:
    """Holds nothing: every weight moves. Base of what ties weights down while they are trained."""

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """What the optimizer moves."""
        return list(module.parameters())

    def begin(self) -> None:
        """Called at the start of each epoch."""

    def at(self, time: float) -> None:
        """Called before each batch, and once at the end with 1: the done part of the training, 0..1."""
        del time

    def before_step(self) -> None:
        """Called between backward and the optimizer's step."""

    def after_step(self) -> None:
        """Called after the optimizer's step."""

    def state_dict(self) -> dict[str, Any]:
        """What has to be saved beside module and optimizer."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what ``state_dict`` gave."""
        del state


class Pinned(Free):
    """Keeps pruned weights at exactly +0.

    Gradients are masked before each step, so the optimizer, fresh at the start of the stage, never builds up
    momentum for a pruned weight; weights are masked after it, so nothing that an optimizer adds can stay.

    Args:
        weights: the compressible tensors in order of w_net; pruned entries are set to zero at once.
        keep: bool, shape (n,): which entries of w_net are trained.

    """

    def __init__(self, weights: Sequence[Tensor], keep: npt.NDArray[np.bool_]) -> None:
        self._weights = [weight.detach() for weight in weights]
        self._owners = list(weights)
        self._masks: list[Tensor] = []
        self.pin(keep)

    def pin(self, keep: npt.NDArray[np.bool_]) -> None:
        """Pin all entries of w_net that are not in ``keep``, and no others."""
        self._masks = []
        start = 0
        for weight in self._weights:
            part = torch.from_numpy(keep[start : start + weight.numel()])
            start += weight.numel()
            mask = part.reshape(weight.shape).to(weight.device)
            weight.masked_fill_(~mask, 0.0)  # not a product: -1 * 0 is -0, and infinity * 0 is no number
            self._masks.append(mask.to(weight.dtype))

    def before_step(self) -> None:
        """Mask the gradients."""
        pairs = [(w.grad, mask) for w, mask in zip(self._owners, self._masks, strict=True)]
        moving = [(gradient, mask) for gradient, mask in pairs if gradient is not None]
        _multiply([gradient for gradient, _ in moving], [mask for _, mask in moving])

    def after_step(self) -> None:
        """Mask the weights."""
        _multiply(self._weights, self._masks)


class Fixed(Free):
    """Holds all compressible weights where they are: biases and batch norm are trained around them.

    Args:
        weights: the compressible tensors.

    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self._weights = list(weights)

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """Everything else."""
        held = {id(weight) for weight in self._weights}
        return [parameter for parameter in module.parameters() if id(parameter) not in held]

    def before_step(self) -> None:
        """Drop their gradients."""
        for weight in self._weights:
            weight.grad = None


def _multiply(tensors: list[Tensor], masks: list[Tensor]) -> None:
    if tensors:
        torch._foreach_mul_(tensors, masks)
