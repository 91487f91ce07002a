"""Limits of a process that runs a user's program.

A program calls known operators only, but their kernels are not safe against every argument: the process may crash or
ask for all memory. It is therefore kept from harming the machine and from gaining rights. A crash is found by the
supervisor.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS})
"""The signals that end a process because of what it did itself; SIGKILL comes from outside."""

_PR_SET_NO_NEW_PRIVS = 38


def confine_process(memory_bytes: int = 0) -> None:
    """Limit this process for good: no core dumps, no more privileges, no more memory than given.

    Args:
        memory_bytes: bytes of private memory, on Linux those of the heap and of anonymous mappings; 0: as many as the
            machine has.
    """
    memory = memory_bytes or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, memory)):
        _, hard = resource.getrlimit(kind)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (ceiling, ceiling))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
