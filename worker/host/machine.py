"""The machine of a worker: its GPUs, its memory, and the versions of the packages that decide a job's numbers."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("cnet", "torch", "numpy")
_QUERY_SECONDS = 120
_PRINT_GPUS = """
import json, torch
found = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
print(json.dumps([{"name": row.name, "memory_bytes": row.total_memory, "uuid": str(row.uuid)} for row in found]))
"""
_CGROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of version 2 and of version 1


@dataclass(frozen=True)
class Gpu:
    """A GPU that CUDA lists.

    Attributes:
        name: of the model.
        memory_bytes: its memory.
        uuid: tells it from all others.
    """

    name: str
    memory_bytes: int
    uuid: str

    def to_json(self) -> dict[str, Any]:
        """What the list of workers shows of it."""
        return {"name": self.name, "memory_bytes": self.memory_bytes}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a job's numbers. Packages not installed are left out."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def gpus() -> list[Gpu]:
    """The GPUs that PyTorch can use, in the order of CUDA, which ``CUDA_VISIBLE_DEVICES`` may restrict.

    A child process imports torch to find out, which takes seconds; this process does not.
    """
    if shutil.which("nvidia-smi") is None:
        return []
    command = [sys.executable, "-P", "-c", _PRINT_GPUS]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_QUERY_SECONDS, text=True)
        return [Gpu(**row) for row in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return []


def memory_bytes(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of main memory that this process may use: that of the machine, or the limit of its container.

    Args:
        cgroup: where the kernel shows the limits of the container.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [physical]
    for name in _CGROUP_LIMITS:
        try:
            limits.append(int((cgroup / name).read_text()))
        except (OSError, ValueError):  # there is no such file, or no limit
            continue
    return min(limits)
