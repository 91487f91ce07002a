"""One GPU for each worker: a worker locks a file named after the GPU, which the kernel releases when the worker ends.

A job uses the GPU that CUDA lists first. Workers on one machine would therefore share that one, whatever number of GPUs
there is, and a container that was promised one GPU may see the same one as its neighbour.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.host.machine import Gpu

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that tells CUDA which GPUs to list."""


@dataclass(frozen=True)
class LockedGpu:
    """A GPU that no other worker uses.

    Attributes:
        gpu: the GPU.
        visible: value of ``CUDA_VISIBLE_DEVICES`` with which CUDA lists this GPU alone.
    """

    gpu: Gpu
    visible: str


def lock_gpu(found: Sequence[Gpu], visible: str | None, folder: Path) -> LockedGpu | None:
    """Lock the first GPU that is free, for as long as this process and its children live.

    Args:
        found: the GPUs in the order of CUDA.
        visible: the value of ``CUDA_VISIBLE_DEVICES``, in whose order CUDA lists them; None: it is not set.
        folder: of the lock files; it is shared by all workers that may use the same GPUs.

    Returns:
        The GPU, or None where all are taken or there is none.
    """
    names = visible.split(",") if visible else []
    for number, gpu in enumerate(found):
        if _locked(folder / f"{gpu.uuid}.lock"):
            return LockedGpu(gpu, names[number].strip() if number < len(names) else str(number))
    return None


def _locked(path: Path) -> bool:
    """Whether this process has the lock now. The file stays open, and is inherited by processes that it forks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True
