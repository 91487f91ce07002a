"""What a training method is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cnet.registry import Part, Registry

if TYPE_CHECKING:
    import torch


class Method(Part):
    """What fine-tuning adds to the task loss. The base adds nothing; a method overrides only the hooks it needs.

    Hooks get torch tensors; a method's file imports torch, where it must, inside the hook.
    """

    def penalty(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base adds nothing
        epoch: int,  # noqa: ARG002
    ) -> torch.Tensor | None:
        """A scalar to add to the task loss, differentiable in the compressible ``weights``; None adds nothing.

        Args:
            weights: the compressible parameters by canonical name, in order of w_net.
            epoch: index of the epoch, from 0.
        """
        return None

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - the base has none
        """λ in this epoch, for the log; None where the method has none."""
        return None


METHODS: Registry[Method] = Registry("method", "cnet.methods")
