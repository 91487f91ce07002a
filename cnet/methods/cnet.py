"""CNET: fine-tuning with the compressibility loss, which drives weights to a few shared magnitudes and zero."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.methods._base import METHODS, Method
from cnet.methods.fixed_strength import Strength
from cnet.methods.hooks import MethodHooks
from cnet.methods.proximal import zero_small_weights
from cnet.weights import Weights

_LAMBDA, _DECAY = 0.005, 0.001  # used where no strength is given; measured in docs/decisions/0006


class Ramp(UserDocument):
    """A strength λ that grows in each epoch."""

    start: Strength = Field(default=0.0, description="λ in the first epoch.")
    step: Strength = Field(default=0.007, description="Increase of λ from one epoch to the next.")


@METHODS.register("cnet")
class Cnet(Method):
    """Adds λ ‖w‖₁/‖w‖₂ of the whole network (eq. alt2) or Σ λᵢ ‖wᵢ‖₁/‖wᵢ‖₂ by layers (eq. alt1).

    The strength is one of ``lambda``, ``ramp`` and ``layers``, as in the paper; its CNET_ramp is ``"ramp": {}``, made
    for hundreds of epochs. Where none is given, λ is small and fixed and a weight decay is added, which suits trainings
    of any length. The loss lets weights above the magnitude c of theorem 1 grow. Weights that the task does not hold
    back, such as those of a pixel that is always black, grow with them, fastest with an optimizer that scales
    gradients. Pruning by magnitude would keep them and empty other layers; the decay takes them to zero. Without a data
    set, ``lambda`` is the strength of a proximal step on the weights alone.
    """

    summary: ClassVar[str] = "Compressibility loss, network-wide or by layers, with a fixed or a growing strength."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights, 2019"

    name: Literal["cnet"] = "cnet"
    lambda_: Strength | None = Field(
        default=None,
        alias="lambda",
        description="Fixed λ of the network-wide loss. Without a data set: "
        "about the magnitude, in root mean squares of its tensor, below which a weight is set to zero.",
    )
    ramp: Ramp | None = Field(
        default=None,
        description="λ that grows in each epoch, the paper's CNET_ramp; an empty one starts at 0 and grows by 0.007.",
    )
    layers: dict[Annotated[str, Field(min_length=1, max_length=500)], Strength] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Loss by layers: tensor name or pattern (* and ?) to λ; the first pattern that matches counts.",
    )
    decay: Strength = Field(
        default=0.0,
        description="Weight decay of the compressible tensors: half of it times the sum of squares is added. Where no "
        f"strength is given, λ is {_LAMBDA} and the decay {_DECAY}.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_strength(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        strengths = [key for key in ("lambda", "lambda_", "ramp", "layers") if given.get(key) is not None]
        if len(strengths) > 1:
            raise ValueError(
                f"{', '.join(strengths)}: at most one strength can be used. Give one of lambda, ramp and layers."
            )
        return given if strengths else {"decay": _DECAY, **given, "lambda": _LAMBDA}

    def hooks(self) -> MethodHooks:
        """The loss and the decay in PyTorch."""
        from cnet.methods.losses.cnet import CnetHooks

        return CnetHooks(self)

    def strength(self, epoch: int) -> float | None:
        """The strength λ of the network-wide loss in an epoch; None where each layer has its own."""
        if self.lambda_ is not None:
            return self.lambda_
        return None if self.ramp is None else self.ramp.start + epoch * self.ramp.step

    @property
    def needs_data(self) -> str | None:
        """None where ``lambda`` is given and no decay; ramp, layers and decay need a training."""
        return None if self.lambda_ is not None and not self.decay else super().needs_data

    def without_data(self, weights: Weights) -> Weights:
        """The weights with zeros where a proximal step of strength λ has them."""
        return weights if self.lambda_ is None else zero_small_weights(weights, self.lambda_)

    def layer_strengths(self, names: tuple[str, ...]) -> dict[str, float]:
        """The strength λ of each tensor that a pattern of ``layers`` matches.

        Args:
            names: names of the compressible tensors.

        Raises:
            SpecError: a pattern matches no compressible tensor.

        """
        patterns = self.layers or {}
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise SpecError(
                    f"method.layers: {pattern!r} matches no compressible tensor. Use names or patterns of the tensors."
                )
        found = {name: next((p for p in patterns if fnmatchcase(name, p)), None) for name in names}
        return {name: patterns[pattern] for name, pattern in found.items() if pattern is not None}
