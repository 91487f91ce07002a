"""What a worker runs on: versions of what decides the numbers, and its devices."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("cnet", "torch", "numpy")
_ASK_SECONDS = 120
_NAMES = (
    "import json, torch\nprint(json.dumps([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]))"
)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a job's numbers; one that is not installed is left out."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def devices() -> list[str]:
    """Names of the GPUs that the jobs of this process see, or ``["cpu"]``. This process itself imports no torch."""
    if shutil.which("nvidia-smi") is None:
        return ["cpu"]
    try:
        asked = subprocess.run(
            [sys.executable, "-P", "-c", _NAMES], capture_output=True, check=True, timeout=_ASK_SECONDS, text=True
        )
        names: list[str] = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ["cpu"]
    return names or ["cpu"]
