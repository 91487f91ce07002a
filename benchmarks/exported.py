"""A module as an exported program that was read back, which is how a job gets a user's own network."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cnet.models.programs import StoredProgram, read_program
from cnet.training.programs import export_program
from cnet.weights import Selection, Tensor, Weights


def exported(module: nn.Module, inputs: torch.Tensor) -> StoredProgram:
    """The program of a module on the CPU, with copies of its weights.

    Args:
        module: what to export.
        inputs: an example batch, shape (batch, ...).
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.pt2"
        export_program(module, inputs, path)
        archive = read_program(path)
        tensors = [Tensor(one.name, one.dtype, np.array(one.data)) for one in archive.weights]
    buffers = frozenset(row.name for row in archive.program.tensors if row.kind != "parameter")
    return StoredProgram(archive.program, Weights.select(tensors, Selection(tables=buffers), archive.weights.tied))
