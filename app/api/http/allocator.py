"""The C library's memory allocator, set up for bodies of gigabytes."""

from __future__ import annotations

import ctypes
import platform

_M_TRIM_THRESHOLD = -1  # malloc.h
_M_MMAP_THRESHOLD = -3
_LARGEST_REUSED = 8 * 2**20
_MOST_FREE = 32 * 2**20


def reuse_large_buffers() -> None:
    """Let this process reuse the memory of freed buffers of up to 8 MiB, and keep up to 32 MiB of free memory.

    By default glibc returns the memory of each buffer of 256 KiB, the size in which a socket is read, to the kernel,
    which clears it before the next one: more than half of the time of receiving an upload. Other C libraries are left
    alone.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_REUSED)
        libc.mallopt(_M_TRIM_THRESHOLD, _MOST_FREE)
