"""Start a program that cannot outlive the process that started it.

``python -P -m app.core.launch PARENT PROGRAM ARGUMENT...`` asks the kernel to kill it when its parent ends, however
that ends, and then becomes PROGRAM. (Linux; elsewhere it becomes PROGRAM and nothing more.)
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def bound_command(command: Sequence[str]) -> list[str]:
    """The command line that runs ``command`` bound to the calling process.

    The kernel watches the thread that starts it: call from one that lives as long as the process.
    """
    return [sys.executable, "-P", "-m", "app.core.launch", str(os.getpid()), *command]


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux; elsewhere nothing happens).

    Args:
        parent: process id of the parent. Where it is gone already, this process ends at once: the kernel tells of a
            death only once, and the parent may have died before we asked.

    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """Bind to the parent, then become the program."""
    parent, *command = arguments
    die_with_parent(int(parent))
    os.execvp(command[0], command)  # noqa: S606 - the program replaces this one, so its signals and its id are its own


if __name__ == "__main__":
    main(sys.argv[1:])
