"""Start a program that ends when the process that started it ends.

``python -P -m app.core.launch PARENT PROGRAM ARGUMENT...`` asks the kernel to kill it when its parent ends, for
whatever reason, and then becomes PROGRAM. Only Linux can do so; on other systems PROGRAM is started without this.

``uncollected`` is for what a process imports when it starts.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1


def bound_command(command: Sequence[str]) -> list[str]:
    """The command line that runs ``command`` and ends it when the calling process ends.

    The kernel watches the thread that starts the command, so start it from a thread that lives as long as the process.
    """
    return [sys.executable, "-P", "-m", "app.core.launch", str(os.getpid()), *command]


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the thread that started it ends. Does nothing except on Linux.

    Args:
        parent: process id of the parent. Where that process has ended already, this one exits at once, because the
            kernel reports only what happens after it was asked.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


@contextmanager
def uncollected() -> Iterator[None]:
    """Stop the garbage collector inside the block, and let it never look at what was made until the block's end.

    Imports make hundreds of thousands of objects that stay. Looking at them again and again takes a fifth of the start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def main(arguments: Sequence[str]) -> None:
    """Ask the kernel to end this process with its parent, then become the program."""
    parent, *command = arguments
    die_with_parent(int(parent))
    os.execvp(command[0], command)  # noqa: S606 - the program takes over this process, so it has its id and gets its signals


if __name__ == "__main__":
    main(sys.argv[1:])
