"""A program is run once before a job trains it, so that what its operators refuse is said at the beginning."""

from __future__ import annotations

import torch
from torch import nn

from cnet.data import Dataset
from cnet.errors import CnetError, ProgramError
from cnet.training.device import report_out_of_memory, seeded_random
from cnet.training.programs.builder import ProgramBuilder

_SAMPLES = 2


def check_runs(builder: ProgramBuilder, module: nn.Module, dataset: Dataset) -> None:
    """Run the network of a program on zeros of the shapes of a data set, in evaluation and in training.

    Args:
        builder: of the program.
        module: what it built; it is moved to the device of the training, and its buffers may change.
        dataset: its shapes fit the program's inputs.

    Raises:
        ProgramError: (``program_shape``) an operator refuses its arguments; in PyTorch's words.
        TrainingError: (``out_of_memory``) there is not enough memory.
    """
    count, device = builder.fixed_batch or _SAMPLES, torch.device(builder.device)
    shapes = dataset.input_shapes.values()
    inputs = [
        torch.zeros((count, *shape), dtype=getattr(torch, taken.dtype), device=device)
        for shape, taken in zip(shapes, builder.inputs, strict=True)
    ]
    try:
        with report_out_of_memory(), seeded_random(torch.Generator(), device), torch.no_grad():
            module.to(device).eval()(*inputs)
            module.train()(*inputs)
    except CnetError:
        raise
    except Exception as error:  # operators of PyTorch raise errors of many classes
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:300].rstrip(".")
        raise ProgramError(
            f"program: it cannot be run on samples of the shapes {', '.join(map(str, shapes))}: {reason}. Export the "
            "module again with cnet.export_program, with examples of these shapes.",
            code="program_shape",
        ) from error
