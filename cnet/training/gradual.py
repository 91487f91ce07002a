"""Training with a mask that grows: sparsity rises step by step, and what is pruned stays at zero."""

from __future__ import annotations

import hashlib
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


@dataclass(frozen=True, eq=False)
class Rise:
    """A pruning in the course of a training.

    Attributes:
        pruner: whose ``gradual`` says how sparsity rises, and who draws each mask.
        sparsity: the final one.
        curvature: what the pruner may need.

    """

    pruner: Pruner
    sparsity: float
    curvature: Curvature | None = None

    @property
    def gradual(self) -> Gradual:
        """How sparsity rises."""
        return self.pruner.gradual or Gradual()

    def identity(self) -> str:
        """Digest of all of it."""
        curvature = b"" if self.curvature is None else self.curvature.tobytes()
        parts = (self.pruner.model_dump_json(), repr(self.sparsity), hashlib.sha256(curvature).hexdigest())
        return "\n".join(parts)

    def masks(self, weights: Weights) -> Callable[[Vector, int], npt.NDArray[np.bool_]]:
        """From w_net as it is and the number of a step to the mask; ``weights`` say where tensors lie."""

        def keep(vector: Vector, step: int) -> npt.NDArray[np.bool_]:
            now = self.gradual.sparsity(step, self.sparsity)
            return self.pruner.keep(weights.with_vector(vector), now, self.curvature)

        return keep


class Growing(Pinned):
    """Pins more and more weights at zero.

    Args:
        weights: the compressible tensors in order of w_net.
        masks: from w_net and the number of a step to the mask.
        gradual: when each step is due.

    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        masks: Callable[[Vector, int], npt.NDArray[np.bool_]],
        gradual: Gradual,
    ) -> None:
        super().__init__(weights, np.ones(sum(weight.numel() for weight in weights), np.bool_))
        self._draw = masks
        self._gradual = gradual
        self._step = -1
        self._drawn = np.ones(0, np.bool_)

    def at(self, time: float) -> None:
        """Draw a new mask where one is due at ``time``, the done part of the training."""
        step = self._gradual.step_at(time)
        if step > self._step:
            self._step = step
            self._drawn = self._draw(self._vector(), step)
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
