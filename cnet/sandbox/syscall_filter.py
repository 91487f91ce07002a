"""A filter of system calls (seccomp) for processes that read what strangers sent: no network, no other programs.

It needs no rights, and holds for the rest of the process. See Linux, Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Final

# The calls, by the name of the machine: those that reach the network, start programs, or reach into other processes.
_CALLS: Final[Mapping[str, Mapping[str, int]]] = {
    "x86_64": {
        "socket": 41,
        "connect": 42,
        "sendto": 44,
        "bind": 49,
        "listen": 50,
        "socketpair": 53,
        "execve": 59,
        "kill": 62,
        "ptrace": 101,
        "mount": 165,
        "unshare": 272,
        "process_vm_writev": 311,
        "bpf": 321,
        "execveat": 322,
        "io_uring_setup": 425,
    },
    "aarch64": {
        "mount": 40,
        "unshare": 97,
        "ptrace": 117,
        "kill": 129,
        "socket": 198,
        "socketpair": 199,
        "bind": 200,
        "listen": 201,
        "connect": 203,
        "sendto": 206,
        "execve": 221,
        "process_vm_writev": 271,
        "bpf": 280,
        "execveat": 281,
        "io_uring_setup": 425,
    },
}
_ARCHITECTURES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # the first number of a second table of calls on x86-64
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the filter
_NUMBER, _ARCHITECTURE = 0, 4  # where they stand in struct seccomp_data
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_PR_SET_SECCOMP, _MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38


class _Instruction(ctypes.Structure):
    """``struct sock_filter``."""

    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint))


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def refuse_dangerous_calls() -> bool:
    """Refuse the system calls of ``_CALLS`` to this process from now on: they fail with EPERM.

    Returns:
        False where the machine or the kernel has no such filters; nothing has changed then but that the process can
        gain no more rights.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _CALLS:
        return False
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    instructions = _instructions(_ARCHITECTURES[machine], sorted(_CALLS[machine].values()))
    program = _Program(len(instructions), (_Instruction * len(instructions))(*instructions))
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _instructions(architecture: int, calls: Sequence[int]) -> list[_Instruction]:
    """The filter: calls of another architecture or table are refused, and those of the list."""
    refuse = len(calls) + 2  # how far the last instruction is from the first comparison of numbers
    rows = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, refuse + 1, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, refuse - 1, 0, _X32),
        *((_EQUAL, refuse - 2 - place, 0, call) for place, call in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return [_Instruction(*row) for row in rows]
