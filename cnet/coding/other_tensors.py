"""Tensors that are not compressible, packed: those of one element type together, as byte planes.

They are packed in blocks of at most ``BLOCK_BYTES`` bytes, each by itself. A block's content: for each type, in the
order of first appearance, all of its numbers as ``pack_planes`` makes them, after their length. The packing
``float16`` keeps float32 and float64 tensors as float16 where that makes none of their values infinite; which these
are is a bitmap, ``numpy.packbits``, before all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes
from cnet.coding.primitives.varint import decode_varint, encode_varint
from cnet.weights import Tensor

Packing = Literal["planes", "float16"]
Array = npt.NDArray[np.generic]
TypedCount = tuple[str, int]
"""Name of an element type, and a number of elements of it."""

BLOCK_BYTES = 2**24
"""Bytes of tensors that are packed together."""

_NARROWED = ("float32", "float64")


def pack_arrays(arrays: Sequence[tuple[str, Array]], packing: Packing) -> bytes:
    """The content of one block.

    Args:
        arrays: each with the name of its element type; any shape.
        packing: exact (``planes``), or rounded where possible (``float16``).
    """
    head = b""
    if packing == "float16":
        flags = [dtype in _NARROWED and _fits_float16(array) for dtype, array in arrays]
        head = np.packbits(np.array(flags, np.bool_)).tobytes()
        arrays = [
            ("float16", array.astype(np.float16)) if flag else (dtype, array)
            for flag, (dtype, array) in zip(flags, arrays, strict=True)
        ]
    packed = [pack_planes(np.concatenate([array.reshape(-1) for array in same])) for same in _by_type(arrays).values()]
    return head + b"".join(encode_varint(len(part)) + part for part in packed)


def unpack_arrays(content: memoryview, counts: Sequence[TypedCount], packing: Packing) -> npt.NDArray[np.uint8]:
    """The bytes of all arrays of a block, in their order: uint8, shape (bytes,).

    Args:
        content: from ``pack_arrays``.
        counts: element type and number of elements of each array.
        packing: as it was packed.

    Raises:
        ValueError: the content is not that of such arrays.
    """
    stored, flags = list(counts), [False] * len(counts)
    if packing == "float16":
        size = -(-len(counts) // 8)
        bits = np.unpackbits(np.frombuffer(content[:size], np.uint8), count=len(counts))
        flags, content = [bool(bit) for bit in bits], content[size:]
        stored = [("float16", each[1]) if flag else each for flag, each in zip(flags, counts, strict=True)]
    groups: dict[str, Array] = {}
    for dtype in dict.fromkeys(dtype for dtype, _ in stored):
        size, rest = decode_varint(content)
        count = sum(count for each, count in stored if each == dtype)
        groups[dtype] = unpack_planes(rest[:size], count, dtypes.by_name(dtype).numpy)
        content = rest[size:]
    if len(content):
        raise ValueError(f"other tensors: {len(content)} bytes follow their end. Write the bundle again.")
    parts = [np.empty(0, np.uint8)]
    for (dtype, count), (kept, _), flag in zip(counts, stored, flags, strict=True):
        part, groups[kept] = groups[kept][:count], groups[kept][count:]
        parts.append((part.astype(dtypes.by_name(dtype).numpy) if flag else part).view(np.uint8))
    return np.concatenate(parts)


def split_counts(counts: Sequence[TypedCount]) -> list[list[TypedCount]]:
    """Consecutive tensors divided into blocks of at most ``BLOCK_BYTES`` bytes, a large tensor into several."""
    found: list[list[TypedCount]] = []
    room = 0
    for dtype, count in counts:
        width = dtypes.by_name(dtype).numpy.itemsize
        while count:
            if room < width:
                found.append([])
                room = BLOCK_BYTES
            part = min(count, room // width)
            found[-1].append((dtype, part))
            count, room = count - part, room - part * width
    return found


def split_tensors(tensors: Sequence[Tensor]) -> Iterator[list[tuple[str, Array]]]:
    """The blocks of ``split_counts`` with their values: flat arrays, each with the name of its element type."""
    flat = (tensor.data.reshape(-1) for tensor in tensors if tensor.size)
    rest: Array = np.empty(0, np.uint8)
    for block in split_counts([(tensor.dtype, tensor.size) for tensor in tensors]):
        arrays: list[tuple[str, Array]] = []
        for dtype, count in block:
            rest = rest if len(rest) else next(flat)
            arrays.append((dtype, rest[:count]))
            rest = rest[count:]
        yield arrays


def after_packing(dtype: str, array: Array, packing: Packing) -> Array:
    """What an array of any shape is after packing and unpacking; ``array`` itself where nothing changes."""
    narrows = packing == "float16" and dtype in _NARROWED and _fits_float16(array)
    return array.astype(np.float16).astype(array.dtype) if narrows else array


def _fits_float16(array: Array) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.array_equal(np.isfinite(array.astype(np.float16)), np.isfinite(array)))


def _by_type(arrays: Sequence[tuple[str, Array]]) -> dict[str, list[Array]]:
    groups: dict[str, list[Array]] = {}
    for dtype, array in arrays:
        groups.setdefault(dtype, []).append(array)
    return groups
