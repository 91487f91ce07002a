"""Builds a program and runs it, in evaluation and in training."""

from __future__ import annotations

from typing import Any

import torch

from cnet.errors import ProgramError
from cnet.models.programs import StoredProgram
from cnet.training.programs import ProgramModule

_REFUSALS = (
    KeyError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    AttributeError,
    OverflowError,
    ZeroDivisionError,
    AssertionError,
)
"""What PyTorch raises where an operator refuses its arguments; in a job they are reported as errors of the program."""


def run_program(stored: StoredProgram) -> None:
    """Run a program on zeros: forward in both modes, backward in training.

    Raises:
        ProgramError: it cannot be run.
    """
    try:
        module = ProgramModule.of(stored.program, stored.weights)
        inputs = [_example(one.dtype, one.shape) for one in stored.program.inputs]
        module.eval()(*inputs)
        outputs = module.train()(*inputs)
        loss = sum(one.float().sum() for one in (outputs if isinstance(outputs, tuple) else (outputs,)))
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loss.backward()
    except _REFUSALS as error:
        raise ProgramError("program: it cannot be run. Export the module again.", code="program_shape") from error


def _example(dtype: str, shape: tuple[int | str | None, ...]) -> Any:
    sizes = [min(one, 64) if isinstance(one, int) else 3 for one in shape]
    return torch.zeros(sizes, dtype=getattr(torch, dtype))
