"""Fine-tuning with the task loss alone."""

from __future__ import annotations

from typing import ClassVar, Literal

from cnet.methods._base import METHODS, Method


@METHODS.register("none")
class NoPenalty(Method):
    """Adds nothing: plain fine-tuning, the control that a method is held against."""

    summary: ClassVar[str] = "Plain fine-tuning with the task loss alone."
    source: ClassVar[str] = "The control of every comparison"

    steady: ClassVar[bool] = True
    name: Literal["none"] = "none"
