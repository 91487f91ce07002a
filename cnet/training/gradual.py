"""Training with a mask that grows: sparsity rises step by step, and what is pruned stays at zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.prune import Curvature, Gradual, Pruner
from cnet.training.recover import Pinned
from cnet.weights import Weights

Vector = npt.NDArray[np.floating]
Masks = Callable[[Vector, int, Curvature | None], npt.NDArray[np.bool_]]
Measure = Callable[[], Curvature]


@dataclass(frozen=True, eq=False)
class Rise:
    """A pruning in the course of a training.

    Attributes:
        pruner: whose ``gradual`` says how sparsity rises, and who draws each mask.
        sparsity: the final one.

    """

    pruner: Pruner
    sparsity: float

    @property
    def gradual(self) -> Gradual:
        """How sparsity rises."""
        return self.pruner.gradual or Gradual()

    def identity(self) -> str:
        """What makes it another pruning."""
        return f"{self.pruner.model_dump_json()}\n{self.sparsity!r}"

    def masks(self, weights: Weights) -> Masks:
        """Who draws the masks; ``weights`` say where tensors lie."""

        def keep(vector: Vector, step: int, curvature: Curvature | None) -> npt.NDArray[np.bool_]:
            now = self.gradual.sparsity(step, self.sparsity)
            return self.pruner.keep(weights.with_vector(vector), now, curvature)

        return keep


class Growing(Pinned):
    """Pins more and more weights at zero.

    Args:
        weights: the compressible tensors in order of w_net.
        masks: from w_net, the number of a step and the curvature to the mask.
        gradual: when each step is due.
        measure: the curvature of the net as it is; asked for at the start of each epoch in which sparsity rises. None
            where the pruner needs none.

    """

    def __init__(
        self, weights: Sequence[Tensor], masks: Masks, gradual: Gradual, measure: Measure | None = None
    ) -> None:
        super().__init__(weights, np.ones(sum(weight.numel() for weight in weights), np.bool_))
        self._draw = masks
        self._gradual = gradual
        self._step = -1
        self._drawn = np.ones(0, np.bool_)
        self._measure = measure
        self._curvature: Curvature | None = None

    def begin(self) -> None:
        """Measure the curvature, while it is still needed."""
        if self._measure is not None and self._step < self._gradual.steps:
            self._curvature = self._measure()

    def at(self, time: float) -> None:
        """Draw a new mask where one is due at ``time``, the done part of the training."""
        step = self._gradual.step_at(time)
        if step > self._step:
            self._step = step
            self._drawn = self._draw(self._vector(), step, self._curvature)
            self.pin(self._drawn)

    def state_dict(self) -> dict[str, Any]:
        """The last step's number and mask, packed."""
        return {"step": self._step, "mask": torch.from_numpy(np.packbits(self._drawn))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what ``state_dict`` gave."""
        self._step = state["step"]
        if self._step >= 0:
            count = sum(weight.numel() for weight in self._weights)
            self._drawn = np.unpackbits(state["mask"].numpy(), count=count).astype(np.bool_)
            self.pin(self._drawn)

    def _vector(self) -> npt.NDArray[np.float32]:
        flat: npt.NDArray[np.float32] = torch.cat([w.detach().reshape(-1) for w in self._weights]).cpu().numpy()
        return flat
