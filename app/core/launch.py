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


def bound(command: Sequence[str]) -> list[str]:
    """The command line that runs ``command`` bound to the calling process.

    The kernel watches the thread that starts it: call from one that lives as long as the process.
    """
    return [sys.executable, "-P", "-m", "app.core.launch", str(os.getpid()), *command]


def main(arguments: Sequence[str]) -> None:
    """Bind to the parent, then become the program."""
    parent, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before we asked
        return
    os.execvp(command[0], command)  # noqa: S606 - the program replaces this one, so its signals and its id are its own


if __name__ == "__main__":
    main(sys.argv[1:])
