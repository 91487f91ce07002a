"""Small exported programs for tests. Run in a process that has PyTorch."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import torch
from torch import nn

from cnet.training.programs import export_program


def small_network() -> nn.Module:
    """A network for grey images of 8 x 8 and ten classes, with batch norm and dropout."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(256, 10),
    )


@functools.cache
def small_program() -> bytes:
    """The archive of ``small_network``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.pt2"
        export_program(small_network(), torch.rand(4, 1, 8, 8), path)
        return path.read_bytes()
