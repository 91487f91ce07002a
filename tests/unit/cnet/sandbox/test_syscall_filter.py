"""The filter of system calls, each time in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="the filter knows Linux on x86-64 and AArch64 alone",
)

BEGIN = (
    "import os, socket, subprocess, sys, threading\nfrom cnet.sandbox.syscall_filter import refuse_dangerous_calls\n"
)


def run(code: str) -> str:
    """What a process writes that has the filter."""
    script = f"{BEGIN}assert refuse_dangerous_calls()\n{code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "call",
    [
        "socket.socket()",
        "socket.socketpair()",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
    ],
)
def test_dangerous_calls_are_refused(call: str) -> None:
    """They fail with EPERM."""
    code = f"try:\n    {call}\nexcept PermissionError as error:\n    print('refused', error.errno)\n"

    assert run(code) == "refused 1\n"


def test_what_a_reader_needs_stays() -> None:
    """Files, memory, threads."""
    code = (
        "thread = threading.Thread(target=lambda: print(len(open('/dev/zero', 'rb').read(5))))\n"
        "thread.start(); thread.join(); print(len(bytearray(2**24)))"
    )

    assert run(code) == "5\n16777216\n"


def test_children_have_it_too() -> None:
    """A fork inherits the filter."""
    code = (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        socket.socket()\n    except PermissionError:\n        os._exit(7)\n    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )

    assert run(code) == "7\n"
