"""What every restriction of the weights during a training offers to the training loop."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import Parameter


class WeightConstraint:
    """Restricts how weights move while they are trained. The base restricts nothing: every weight moves."""

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """The parameters that the optimizer moves."""
        return list(module.parameters())

    def begin_epoch(self) -> None:
        """Prepare for an epoch; called at its start."""

    def advance(self, progress: float) -> None:
        """Adapt to the done part of the training, 0..1; called before each batch, and once at the end with 1."""
        del progress

    def before_step(self) -> None:
        """Change gradients; called between the backward pass and the optimizer's step."""

    def after_step(self) -> None:
        """Change weights; called after the optimizer's step."""

    def state_dict(self) -> dict[str, Any]:
        """What a saved training has to hold for this constraint."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        del state
