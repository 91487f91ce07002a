"""The name of the machine, for results."""

from __future__ import annotations

import platform
from pathlib import Path


def name(device: str) -> str:
    """Name of the GPU where it is used, else of the CPU, and the version of torch. Imports torch."""
    import torch

    on_gpu = device != "cpu" and torch.cuda.is_available()
    return f"{torch.cuda.get_device_name() if on_gpu else _cpu()}, torch {torch.__version__.partition('+')[0]}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
