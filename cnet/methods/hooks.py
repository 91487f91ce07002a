"""What a training method does in each training step. This file needs no PyTorch: it only calls methods of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import torch

    from cnet.methods._base import Method


@dataclass(frozen=True, eq=False)
class StepContext:
    """The training step in which a hook is called.

    Attributes:
        epoch: index of the epoch, from 0.
        epochs: number of epochs of the training.
        epoch_fraction: done part of this epoch: 0 at its first batch, below 1.
        auxiliary: the tensors that ``MethodHooks.auxiliary`` made, with their present values.
        generator: source of random numbers on the weights' device. It is seeded at the start of each epoch from the
            training's seed, so that a resumed training draws the same numbers as an undisturbed one.
    """

    epoch: int
    epochs: int
    epoch_fraction: float = 0.0
    auxiliary: Mapping[str, torch.Tensor] = field(default_factory=dict)
    generator: torch.Generator | None = None

    @property
    def progress(self) -> float:
        """Done part of the whole training, 0..1."""
        return (self.epoch + self.epoch_fraction) / self.epochs if self.epochs else 1.0


class MethodHooks:
    """Hooks of one method; the base changes nothing, and a subclass overrides only what its method needs.

    ``auxiliary`` is called once before the first step. Each step calls ``reparametrize`` and ``penalty`` (or
    ``penalty_and_gradient``) and, after the optimizer, ``after_step``. ``fold`` is called once after the last step.

    In all hooks ``weights`` are the compressible parameters by canonical name, in the order of w_net: float32, of any
    shape, all on one device.

    Args:
        method: the method whose parameters the hooks read; a subclass declares ``method`` with its own type.
    """

    recordable: ClassVar[bool] = False
    """Whether all steps of an epoch do the same work on the device, so that a CUDA graph can record and replay them.

    ``reparametrize``, ``penalty`` and ``penalty_and_gradient`` then read nothing of the context but ``epoch`` and
    ``auxiliary``, wait for nothing and copy nothing to the device.
    """

    def __init__(self, method: Method) -> None:
        self.method = method

    def auxiliary(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base keeps nothing
    ) -> dict[str, torch.Tensor]:
        """New tensors to keep beside the weights, by name. Parameters among them are trained, without weight decay."""
        return {}

    def reparametrize(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base replaces nothing
        context: StepContext,  # noqa: ARG002
    ) -> Mapping[str, torch.Tensor]:
        """Tensors that the network uses in place of the weights of these names; differentiable in the weights."""
        return {}

    def penalty(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base adds nothing
        context: StepContext,  # noqa: ARG002
    ) -> torch.Tensor | None:
        """Scalar to add to the task loss, differentiable in weights and auxiliary tensors; None adds nothing."""
        return None

    def penalty_and_gradient(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base leaves it to autograd
        context: StepContext,  # noqa: ARG002
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]] | None:
        """The penalty and its gradient in each of ``weights``, where a method computes them faster than autograd.

        A result that is not None is used in place of ``penalty``, which has the same value and depends on no auxiliary
        tensor. Called without autograd; the caller may change the returned tensors.
        """
        return None

    def after_step(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> None:
        """Change weights or auxiliary tensors in place after a step of the optimizer; called without autograd."""

    def fold(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base replaces nothing
        auxiliary: Mapping[str, torch.Tensor],  # noqa: ARG002
    ) -> Mapping[str, torch.Tensor]:
        """Final values of the weights of these names; auxiliary tensors are dropped afterwards."""
        return {}
