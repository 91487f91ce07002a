"""Work on large arrays in chunks, release the memory of mapped files, and digest arrays.

Three helpers for one purpose: what is computed from an array of any length takes little memory beside it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

CHUNK = 2**20
"""Number of elements in a chunk, where nothing asks for another number. Sums that are recorded depend on it."""

CACHED_CHUNK = 2**16
"""Number of elements in a chunk that stays in the processor's cache while it is worked on in several steps."""

_RELEASE_INTERVAL = 2**26  # bytes that are read from a mapped file before its memory is released

ScalarT = TypeVar("ScalarT", bound=np.generic)


def slices(length: int, size: int = CHUNK, start: int = 0) -> Iterator[slice]:
    """Consecutive slices that cover ``start`` to ``start + length``, each ``size`` long; the last may be shorter."""
    stop = start + length
    return (slice(first, min(stop, first + size)) for first in range(start, stop, size))


def chunks(
    array: npt.NDArray[ScalarT], size: int = CHUNK, release_interval: int = _RELEASE_INTERVAL
) -> Iterator[npt.NDArray[ScalarT]]:
    """Views of an array, ``size`` elements each, flat and in C order. Memory of a mapped file is released on the way.

    A view must not be used after the next one was requested: its memory may have to be read from the disk again.

    Args:
        array: any shape and element type.
        size: elements of a chunk; the last may have fewer.
        release_interval: bytes after which the memory of a mapped file is released.
    """
    flat, unreleased = array.reshape(-1), 0
    for part in slices(flat.size, size):
        chunk = flat[part]
        yield chunk
        unreleased += chunk.nbytes
        if unreleased >= release_interval:
            release_pages(array)
            unreleased = 0
    release_pages(array)


def release_pages(array: npt.NDArray[np.generic]) -> None:
    """Release the memory that the mapped file of a read-only array takes. It is read from the disk again when needed.

    ``array`` may have any shape and element type. Nothing happens where it is writeable or not of a mapped file.
    """
    base: Any = None if array.flags.writeable else array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "obj", None) if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):  # Windows has no such call
        base.madvise(mmap.MADV_DONTNEED)


def take_masked(values: npt.NDArray[ScalarT], mask: npt.NDArray[np.bool_]) -> npt.NDArray[ScalarT]:
    """``values[mask]``, several times faster: a new array.

    Args:
        values: shape (n,), any element type.
        mask: shape (n,), bool.
    """
    taken = np.empty(np.count_nonzero(mask), values.dtype)
    position = 0
    for part in slices(len(values), CACHED_CHUNK):
        indices = np.flatnonzero(mask[part])
        taken[position : position + len(indices)] = values[part].take(indices)
        position += len(indices)
    return taken


def raw_bytes(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of an array of any shape in C order, not copied where it is in C order already."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def digest(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """SHA-256, hex, of the element types, shapes and values of some arrays of any shape, in their order."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(json.dumps([array.dtype.str, array.shape], separators=(",", ":")).encode())
        total.update(raw_bytes(array))
    return total.hexdigest()
