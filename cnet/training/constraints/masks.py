"""Pruned weights stay zero: a mask that stays as it is, and one that grows while the network is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.prune import Curvature, Gradual
from cnet.training.constraints.base import WeightConstraint
from cnet.training.stage import DrawMask, Mask

MeasureCurvature = Callable[[], Curvature]


class FixedMask(WeightConstraint):
    """Keeps pruned weights at exactly +0.

    Gradients are masked before each step, so that the optimizer, which is new at the start of the stage, never builds
    up momentum for a pruned weight. Weights are masked after the step, so that nothing an optimizer adds stays.

    Args:
        weights: the compressible tensors in the order of w_net, float32, any shape. Pruned entries become zero at once.
        mask: bool, shape (n,): True for the entries of w_net that are trained, False for those that are pruned.

    """

    def __init__(self, weights: Sequence[Tensor], mask: Mask) -> None:
        self._weights = [weight.detach() for weight in weights]
        self._with_gradients = list(weights)
        self._masks: list[Tensor] = []
        self.set_mask(mask)

    def set_mask(self, mask: Mask) -> None:
        """Hold all entries of w_net at zero for which ``mask``, bool, shape (n,), is False, and no others."""
        self._masks = []
        start = 0
        for weight in self._weights:
            part = torch.from_numpy(mask[start : start + weight.numel()])
            start += weight.numel()
            trained = part.reshape(weight.shape).to(weight.device)
            weight.masked_fill_(~trained, 0.0)  # not a product: -1 * 0 is -0, and infinity * 0 is NaN
            self._masks.append(trained.to(weight.dtype))

    def before_step(self) -> None:
        """Mask the gradients."""
        pairs = [(weight.grad, mask) for weight, mask in zip(self._with_gradients, self._masks, strict=True)]
        present = [(gradient, mask) for gradient, mask in pairs if gradient is not None]
        _multiply([gradient for gradient, _ in present], [mask for _, mask in present])

    def after_step(self) -> None:
        """Mask the weights."""
        _multiply(self._weights, self._masks)


class GrowingMask(FixedMask):
    """Prunes more and more weights in the course of a training; pruned weights stay zero.

    Args:
        weights: the compressible tensors in the order of w_net, float32, any shape.
        draw: computes the mask, shape (n,), from w_net, the number of the pruning step, and the curvature if measured.
        gradual: when each pruning step is due.
        measure: measures the curvature of the network as it is. It is called at the start of each epoch in which the
            sparsity rises; None where the pruner needs no curvature.

    """

    def __init__(
        self, weights: Sequence[Tensor], draw: DrawMask, gradual: Gradual, measure: MeasureCurvature | None = None
    ) -> None:
        super().__init__(weights, np.ones(sum(weight.numel() for weight in weights), np.bool_))
        self._draw = draw
        self._gradual = gradual
        self._step = -1
        self._mask = np.ones(0, np.bool_)
        self._measure = measure
        self._curvature: Curvature | None = None

    def begin_epoch(self) -> None:
        """Measure the curvature where a later pruning step will need it."""
        if self._measure is not None and self._step < self._gradual.steps:
            self._curvature = self._measure()

    def advance(self, progress: float) -> None:
        """Draw a new mask where a pruning step is due at ``progress``, the done part of the training."""
        step = self._gradual.step_at(progress)
        if step > self._step:
            self._step = step
            self._mask = self._draw(self._vector(), step, self._curvature)
            self.set_mask(self._mask)

    def state_dict(self) -> dict[str, Any]:
        """Number and mask of the last pruning step; the mask is packed, 8 entries a byte."""
        return {"step": self._step, "mask": torch.from_numpy(np.packbits(self._mask))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._step = state["step"]
        if self._step >= 0:
            count = sum(weight.numel() for weight in self._weights)
            self._mask = np.unpackbits(state["mask"].numpy(), count=count).astype(np.bool_)
            self.set_mask(self._mask)

    def _vector(self) -> npt.NDArray[np.float32]:
        flat: npt.NDArray[np.float32] = torch.cat([w.detach().reshape(-1) for w in self._weights]).cpu().numpy()
        return flat


def _multiply(tensors: list[Tensor], masks: list[Tensor]) -> None:
    if tensors:
        torch._foreach_mul_(tensors, masks)
