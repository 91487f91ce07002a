"""Work on large arrays in chunks, and give back the memory of mapped files."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_CHUNK = 2**16

_HELD = 2**26  # bytes that are read of a mapped file before they are given back

ValueT = TypeVar("ValueT", bound=np.generic)


def release(array: npt.NDArray[np.generic]) -> None:
    """Give back the memory that a read-only array's mapped file takes; it is read from the disk again when needed.

    Nothing happens to arrays that lie in no mapped file, or that could be written to.
    """
    base: Any = None if array.flags.writeable else array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "obj", None) if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        base.madvise(mmap.MADV_DONTNEED)


def chunks(array: npt.NDArray[np.generic], size: int) -> Iterator[npt.NDArray[np.generic]]:
    """Views of ``size`` elements each, flat, in C order; what was read is given back on the way.

    A view must not be held when the next one is asked for, or it is read from the disk twice.
    """
    flat, held = array.reshape(-1), 0
    for start in range(0, flat.size, size):
        part = flat[start : start + size]
        yield part
        held += part.nbytes
        if held >= _HELD:
            release(array)
            held = 0
    release(array)


def picked(values: npt.NDArray[ValueT], keep: npt.NDArray[np.bool_]) -> npt.NDArray[ValueT]:
    """``values[keep]``, both of shape (n,): taken by their places, in chunks that fit a processor's cache."""
    found = np.empty(np.count_nonzero(keep), values.dtype)
    place = 0
    for start in range(0, len(values), _CHUNK):
        at = np.flatnonzero(keep[start : start + _CHUNK])
        found[place : place + len(at)] = values[start : start + _CHUNK].take(at)
        place += len(at)
    return found
