"""Numbers as bytes: the planes of their bytes apart, each coded where that makes it smaller.

The high bytes of floating-point numbers (sign and exponent) take few values and code well; those of the mantissa are
noise and stay as they are.

Each plane, that of the lowest bytes first, is its coded bytes after their number; or 0 and its bytes as they are; or,
from format version 3 on, 1 and the one byte that it consists of.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.adaptive import Model, Reader, Writer
from cnet.coding.primitives.varint import put, take

_BYTE = 256
_COUNT_FIRST = 2
_CONSTANT = 1  # no coded plane is so short: the coder's words are of four bytes
_MOST_PER_BYTE = 2**20  # what a byte of the coder can hold, and more


def pack(numbers: npt.NDArray[np.generic]) -> bytes:
    """The numbers of an array, little-endian, without its type and length."""
    width = numbers.dtype.itemsize
    planes = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).reshape(-1, width)
    return b"".join(_pack_plane(np.ascontiguousarray(planes[:, place])) for place in range(width))


def unpack(content: memoryview, count: int, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """What ``pack`` made of ``count`` numbers of a type. Raises ValueError where it is something else."""
    if count > _MOST_PER_BYTE * (len(content) + 1):
        raise ValueError("too few bytes for so many numbers")
    planes = np.empty((count, dtype.itemsize), np.uint8)
    for place in range(dtype.itemsize):
        size, content = take(content)
        if size == _CONSTANT:
            planes[:, place] = _only(content)
            content = content[1:]
        elif size == 0:
            part, content = content[:count], content[count:]
            planes[:, place] = np.frombuffer(part, np.uint8, count)
        else:
            planes[:, place] = _decoded(content[:size], count)
            content = content[size:]
    if len(content):
        raise ValueError("numbers are followed by something else")
    return planes.reshape(-1).view(dtype)


def _pack_plane(plane: npt.NDArray[np.uint8]) -> bytes:
    if len(plane) > 1 and np.all(plane == plane[0]):
        return put(_CONSTANT) + plane[:1].tobytes()
    writer = Writer()
    writer.code(Model(_BYTE, first=_COUNT_FIRST, quick=True), plane.astype(np.int32), len(plane))
    coded = writer.finish()
    return put(len(coded)) + coded if 0 < len(coded) < len(plane) else put(0) + plane.tobytes()


def _only(content: memoryview) -> int:
    if not len(content):
        raise ValueError("numbers are cut")
    return content[0]


def _decoded(content: memoryview, count: int) -> npt.NDArray[np.uint8]:
    reader = Reader(bytes(content))
    plane = reader.code(Model(_BYTE, first=_COUNT_FIRST, quick=True), None, count).astype(np.uint8)
    reader.finish()
    return plane
