"""Fine-tuning with the task loss alone."""

from __future__ import annotations

from typing import ClassVar, Literal

from cnet.methods._base import METHODS, Method
from cnet.methods.hooks import MethodHooks


@METHODS.register("none")
class NoPenalty(Method):
    """Adds nothing: plain fine-tuning, with which every other method is compared."""

    summary: ClassVar[str] = "Plain fine-tuning with the task loss alone."
    source: ClassVar[str] = "The control of every comparison"

    name: Literal["none"] = "none"

    def hooks(self) -> MethodHooks:
        """Hooks that change nothing."""
        return NoHooks(self)


class NoHooks(MethodHooks):
    """Hooks that change nothing, in steps that a CUDA graph can record."""

    recordable: ClassVar[bool] = True
