"""The machine of a worker: its GPUs, and the versions of the packages that decide a job's numbers."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("cnet", "torch", "numpy")
_QUERY_SECONDS = 120
_PRINT_GPU_NAMES = (
    "import json, torch\nprint(json.dumps([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]))"
)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a job's numbers. Packages not installed are left out."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def devices() -> list[str]:
    """Names of the GPUs that the jobs of this process can use, or ``["cpu"]``.

    A child process imports torch to find out; this process does not.
    """
    if shutil.which("nvidia-smi") is None:
        return ["cpu"]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PRINT_GPU_NAMES],
            capture_output=True,
            check=True,
            timeout=_QUERY_SECONDS,
            text=True,
        )
        names: list[str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ["cpu"]
    return names or ["cpu"]
