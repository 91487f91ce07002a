"""A process that runs a program has limits. They are permanent, so each test confines a process of its own."""

from __future__ import annotations

import subprocess
import sys

_START = "from worker.run.confinement import confine_process; confine_process({memory}); "


def _run(code: str, memory: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _START.format(memory=memory) + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_memory_is_limited() -> None:
    """More is a MemoryError, which the job reports, and not a machine without memory."""
    assert "MemoryError" in _run("bytearray(2**30)", memory=2**28).stderr
    assert _run("bytearray(2**20)", memory=2**28).returncode == 0


def test_no_core_and_no_privileges() -> None:
    """A crash leaves no copy of the memory; a program gains no rights."""
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)); print(open('/proc/self/status').read())"
    output = _run(code).stdout
    assert "(0, 0)" in output
    assert "NoNewPrivs:\t1" in output


def test_torch_runs_with_the_default() -> None:
    """Its threads and its allocator need no more than the machine has."""
    assert _run("import torch; print(torch.rand(64, 64).mm(torch.rand(64, 64)).sum() > 0)").stdout == "tensor(True)\n"
