"""The tensors that are not compressible, packed: those of one type together, the planes of their bytes apart.

Content: for each type, in the order of first appearance, its numbers as ``_floats.pack`` makes them, after their
length; from format version 3 on this for each ``BLOCK`` bytes by itself. Kind ``float16`` keeps float32 and float64
tensors as float16 where none of their values becomes infinite by that; which these are is a bitmap,
``numpy.packbits``, before all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.coding.primitives.byte_planes import pack, unpack
from cnet.coding.primitives.varint import put, take
from cnet.weights import Tensor

Kind = Literal["planes", "float16"]
Array = npt.NDArray[np.generic]
Described = tuple[str, int]
"""Name of the element type, and number of elements."""

BLOCK = 2**24
"""Bytes of other tensors that are packed together, from version 3 on."""

_NARROWED = ("float32", "float64")


def pack_others(arrays: Sequence[tuple[str, Array]], kind: Kind) -> bytes:
    """The content of the member for arrays with the names of their types."""
    head = b""
    if kind == "float16":
        flags = [dtype in _NARROWED and _fits(array) for dtype, array in arrays]
        head = np.packbits(np.array(flags, np.bool_)).tobytes()
        arrays = [_narrowed(*each) if flag else each for flag, each in zip(flags, arrays, strict=True)]
    packed = [pack(np.concatenate([array.reshape(-1) for array in group])) for group in _by_type(arrays).values()]
    return head + b"".join(put(len(part)) + part for part in packed)


def unpack_others(content: memoryview, described: Sequence[Described], kind: Kind) -> npt.NDArray[np.uint8]:
    """The bytes of all arrays in order. Raises ValueError where the content is not theirs."""
    stored, flags = list(described), [False] * len(described)
    if kind == "float16":
        size = -(-len(described) // 8)
        bits = np.unpackbits(np.frombuffer(content[:size], np.uint8), count=len(described))
        flags, content = [bool(bit) for bit in bits], content[size:]
        stored = [("float16", each[1]) if flag else each for flag, each in zip(flags, described, strict=True)]
    groups: dict[str, Array] = {}
    for dtype in dict.fromkeys(dtype for dtype, _ in stored):
        size, rest = take(content)
        count = sum(count for each, count in stored if each == dtype)
        groups[dtype] = unpack(rest[:size], count, dtypes.by_name(dtype).numpy)
        content = rest[size:]
    if len(content):
        raise ValueError("the other tensors are followed by something else")
    parts = [np.empty(0, np.uint8)]
    for (dtype, count), (kept, _), flag in zip(described, stored, flags, strict=True):
        part, groups[kept] = groups[kept][:count], groups[kept][count:]
        parts.append((part.astype(dtypes.by_name(dtype).numpy) if flag else part).view(np.uint8))
    return np.concatenate(parts)


def blocks(described: Sequence[Described]) -> list[list[Described]]:
    """Tensors that follow each other, cut into blocks of at most ``BLOCK`` bytes, a large tensor into several."""
    found: list[list[Described]] = []
    room = 0
    for dtype, count in described:
        width = dtypes.by_name(dtype).numpy.itemsize
        while count:
            if room < width:
                found.append([])
                room = BLOCK
            part = min(count, room // width)
            found[-1].append((dtype, part))
            count, room = count - part, room - part * width
    return found


def blocks_of(tensors: Sequence[Tensor]) -> Iterator[list[tuple[str, Array]]]:
    """The same blocks with their values, flat, each with the name of its type."""
    flat = (tensor.data.reshape(-1) for tensor in tensors if tensor.size)
    rest: Array = np.empty(0, np.uint8)
    for block in blocks([(tensor.dtype, tensor.size) for tensor in tensors]):
        arrays: list[tuple[str, Array]] = []
        for dtype, count in block:
            rest = rest if len(rest) else next(flat)
            arrays.append((dtype, rest[:count]))
            rest = rest[count:]
        yield arrays


def rounded(dtype: str, array: Array, kind: Kind) -> Array:
    """What an array is after packing and unpacking."""
    narrows = kind == "float16" and dtype in _NARROWED and _fits(array)
    return array.astype(np.float16).astype(array.dtype) if narrows else array


def _fits(array: Array) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.array_equal(np.isfinite(array.astype(np.float16)), np.isfinite(array)))


def _narrowed(dtype: str, array: Array) -> tuple[str, Array]:  # noqa: ARG001 - takes the pair that it replaces
    return "float16", array.astype(np.float16)


def _by_type(arrays: Sequence[tuple[str, Array]]) -> dict[str, list[Array]]:
    groups: dict[str, list[Array]] = {}
    for dtype, array in arrays:
        groups.setdefault(dtype, []).append(array)
    return groups
