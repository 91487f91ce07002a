"""What a training method is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from cnet.registry import Part, Registry
from cnet.weights import Weights

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a training stands, and what its method keeps beside the weights.

    Attributes:
        epoch: index of the epoch, from 0.
        epochs: how many there will be.
        part: how much of this epoch is done, 0 at its first batch, below 1.
        auxiliary: what the method's ``auxiliary`` made, as it is now.
        random: source of random numbers on the weights' device; seeded anew at each epoch from the training's seed, so
            that a resumed training draws what an undisturbed one would have.
    """

    epoch: int
    epochs: int
    part: float = 0.0
    auxiliary: Mapping[str, torch.Tensor] = field(default_factory=dict)
    random: torch.Generator | None = None

    @property
    def time(self) -> float:
        """How much of the whole training is done, 0..1."""
        return (self.epoch + self.part) / self.epochs if self.epochs else 1.0


class Method(Part):
    """What fine-tuning adds to the task loss. The base adds nothing; a method overrides only the hooks it needs.

    Each step calls ``reparametrize``, ``penalty`` and, after the optimizer, ``after_step``; ``auxiliary`` is called
    once before the first step and ``fold`` once after the last. ``weights`` are the compressible parameters by
    canonical name, in order of w_net; all tensors lie on one device. A method's file imports torch, where it must,
    inside the hook.
    """

    steady: ClassVar[bool] = False
    """Whether ``reparametrize`` and both hooks of the penalty do the same to the device in each step of an epoch.

    They read nothing of the moment but ``epoch`` and ``auxiliary`` then, wait for nothing and copy nothing to the
    device: on a GPU such steps are recorded once an epoch and replayed.
    """

    def auxiliary(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base keeps nothing
    ) -> dict[str, torch.Tensor]:
        """Tensors to keep beside the weights, by name, fresh. Parameters among them are trained along, undecayed."""
        return {}

    def reparametrize(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base leaves them
        moment: Moment,  # noqa: ARG002
    ) -> Mapping[str, torch.Tensor]:
        """What the net computes with in place of those weights that are named, differentiable in them."""
        return {}

    def penalty(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base adds nothing
        moment: Moment,  # noqa: ARG002
    ) -> torch.Tensor | None:
        """A scalar to add to the task loss, differentiable in weights and auxiliary; None adds nothing."""
        return None

    def penalty_and_gradient(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base knows nothing
        moment: Moment,  # noqa: ARG002
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]] | None:
        """``penalty`` and its gradient in each of ``weights``, where a method has them at less cost than autograd.

        Where it gives any they are taken in place of ``penalty``, which has the same value and depends on no auxiliary
        tensor. Called without gradients; what comes back is the caller's to change.
        """
        return None

    def after_step(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> None:
        """Change weights or auxiliary tensors in place, once the optimizer has; called without gradients."""

    def fold(
        self,
        weights: Mapping[str, torch.nn.Parameter],  # noqa: ARG002 - the base leaves them
        auxiliary: Mapping[str, torch.Tensor],  # noqa: ARG002
    ) -> Mapping[str, torch.Tensor]:
        """What those weights that are named are to be once the training is over; auxiliary tensors are dropped then."""
        return {}

    @property
    def needs_data(self) -> str | None:
        """As in ``cnet.capabilities.NeedsData``; where it is None a job without a data set calls ``without_data``."""
        return "a method trains the model. Leave it out, name a dataset, or take cnet with a lambda and no decay."

    def without_data(self, weights: Weights) -> Weights:
        """The weights that such a job prunes, in NumPy; the base leaves them."""
        return weights

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - the base has none
        """λ in this epoch, for the log; None where the method has none."""
        return None


METHODS: Registry[Method] = Registry("method", "cnet.methods")
