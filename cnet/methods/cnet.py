"""CNET: fine-tuning with the compressibility loss, which drives weights to a few shared magnitudes and zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.methods._base import METHODS, Method, Moment
from cnet.methods._fixed import Strength
from cnet.methods._proximal import thinned
from cnet.weights import Weights

if TYPE_CHECKING:
    import torch


_LAMBDA, _DECAY = 0.005, 0.001
"""The default where no strength is given: measured in docs/decisions/0006."""


class Ramp(UserDocument):
    """A strength that grows by the epoch."""

    start: Strength = Field(default=0.0, description="λ in the first epoch.")
    step: Strength = Field(default=0.007, description="What λ grows by at the end of each epoch.")


@METHODS.register("cnet")
class Cnet(Method):
    """Adds λ ‖w‖₁/‖w‖₂ of the whole net (eq. alt2), or Σ λᵢ ‖wᵢ‖₁/‖wᵢ‖₂ by layers (eq. alt1), to the task loss.

    One of ``lambda``, ``ramp`` and ``layers``, as in the paper; CNET_ramp is ``"ramp": {}``, made for hundreds of
    epochs. None of them is the default for trainings of any length: a small fixed λ, and a weight decay. The loss
    lets weights above the magnitude c of theorem 1 grow. Those that the task does not hold, such as the weights of a
    pixel that is always black, grow with them, fastest with an optimizer that scales gradients; pruning by magnitude
    then keeps them and empties other layers. The decay takes them to zero instead.
    Without a data set a given ``lambda`` is that of a proximal step on the weights alone (``cnet.methods._proximal``).
    """

    summary: ClassVar[str] = "Compressibility loss, network-wide or by layers, with a fixed or a growing strength."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights, 2019"

    steady: ClassVar[bool] = True
    name: Literal["cnet"] = "cnet"
    lambda_: Strength | None = Field(
        default=None,
        alias="lambda",
        description="Fixed λ of the network-wide loss. Without a data set: "
        "about the magnitude, in root mean squares of its tensor, below which a weight is set to zero.",
    )
    ramp: Ramp | None = Field(
        default=None, description="λ that grows each epoch, the paper's CNET_ramp: from 0 by 0.007 where it is empty."
    )
    layers: dict[Annotated[str, Field(min_length=1, max_length=500)], Strength] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Layer-wise loss: tensor name or pattern (* and ?) to λ; the first that fits a tensor counts.",
    )
    decay: Strength = Field(
        default=0.0,
        description="Weight decay of the compressible tensors: half of it times the sum of squares is added. Where no "
        f"strength is given λ is {_LAMBDA} and this {_DECAY}.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_strength(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        strengths = [key for key in ("lambda", "lambda_", "ramp", "layers") if given.get(key) is not None]
        if len(strengths) > 1:
            raise ValueError("give one of lambda, ramp and layers, not several")
        return given if strengths else {"decay": _DECAY, **given, "lambda": _LAMBDA}

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:
        """λ of this epoch times the loss of all ``weights``, or the sum over the layers; and the decay's part.

        Raises:
            SpecError: a pattern in ``layers`` fits no compressible tensor.

        """
        loss = self._loss(weights, moment)
        if not self.decay or not weights:
            return loss
        return self._decayed(tuple(weights.values())) + (0.0 if loss is None else loss)

    def _decayed(self, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """Half the decay times the sum of squares."""
        import torch

        return 0.5 * self.decay * torch.stack(torch._foreach_norm(list(weights), 2)).square().sum()

    def _loss(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:
        """The compressibility loss times its strength; None where that is zero."""
        from cnet.methods.losses import compressibility

        if self.layers is not None:
            strengths = self._by_layer(tuple(weights))
            return compressibility.layerwise([weights[name] for name in strengths], tuple(strengths.values()))
        strength = self.strength(moment.epoch)
        return strength * compressibility.compressibility(tuple(weights.values())) if strength else None

    def penalty_and_gradient(
        self, weights: Mapping[str, torch.nn.Parameter], moment: Moment
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]] | None:
        """Of the network-wide loss and the decay; None for the layer-wise loss."""
        import torch

        from cnet.methods.losses import compressibility

        strength = self.strength(moment.epoch)
        parts: list[torch.Tensor] = list(weights.values())
        if not strength or not parts:
            return None
        with torch.no_grad():
            value, gradients = compressibility.value_and_gradient(parts, strength)
            if self.decay:
                torch._foreach_add_(gradients, parts, alpha=self.decay)
                value = value + self._decayed(parts)
        return value, gradients

    def strength(self, epoch: int) -> float | None:
        """λ of the network-wide loss in this epoch; None where each layer has its own."""
        if self.lambda_ is not None:
            return self.lambda_
        return None if self.ramp is None else self.ramp.start + epoch * self.ramp.step

    @property
    def needs_data(self) -> str | None:
        """None with a λ of its own; ramp, layers and decay belong to a training."""
        return None if self.lambda_ is not None and not self.decay else super().needs_data

    def without_data(self, weights: Weights) -> Weights:
        """The weights with zeros where a proximal step of λ has them."""
        return weights if self.lambda_ is None else thinned(weights, self.lambda_)

    def _by_layer(self, names: tuple[str, ...]) -> dict[str, float]:
        """The strength of each tensor that a pattern fits."""
        patterns = self.layers or {}
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise SpecError(f"method.layers: {pattern!r} fits no compressible tensor of the net")
        found = {name: next((p for p in patterns if fnmatchcase(name, p)), None) for name in names}
        return {name: patterns[pattern] for name, pattern in found.items() if pattern is not None}
