"""Mask and labels of a small net as they are, deflated."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.inflate import inflated

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


def plain(keep: Bools, numbers: Ints) -> tuple[bytes, bytes]:
    """The two streams, of the mask and of the numbers of what is kept."""
    return zlib.compress(np.packbits(keep).tobytes(), 9), _plain_numbers(numbers)


def read_plain(mask: memoryview, labels: memoryview, weights: int) -> tuple[Bools, Ints]:
    """Mask and numbers. Raises ValueError."""
    packed = inflated(bytes(mask), -(-weights // 8))
    keep = np.unpackbits(np.frombuffer(packed, np.uint8), count=weights).astype(np.bool_)
    numbers = _numbers_of(labels, int(np.count_nonzero(keep)))
    if np.any(numbers == 0):
        raise ValueError("a kept weight has the label of none")
    return keep, numbers


def _plain_numbers(numbers: Ints) -> bytes:
    """The numbers under deflate, as the smallest of 4-bit, 1-byte and 4-byte integers that can hold them."""
    widest = int(np.max(np.abs(numbers), initial=0))
    forms = [bytes([4]) + zlib.compress(numbers.astype("<i4").tobytes(), 9)] if widest > 127 else []
    if widest <= 127:
        forms.append(bytes([1]) + zlib.compress(numbers.astype("<i1").tobytes(), 9))
    below = max(0, -int(np.min(numbers, initial=0)))
    if below + max(0, int(np.max(numbers, initial=0))) <= 16:
        places = np.where(numbers < 0, numbers + below, numbers + below - 1).astype(np.uint8)
        pairs = np.pad(places, (0, len(places) % 2)).reshape(-1, 2)
        forms.append(bytes([0, below]) + zlib.compress((pairs[:, 0] << 4 | pairs[:, 1]).tobytes(), 9))
    return min(forms, key=len)


def _numbers_of(content: memoryview, count: int) -> Ints:
    """The inverse of ``_plain_numbers``. Raises ValueError."""
    if len(content) < 2 or content[0] not in (0, 1, 4):
        raise ValueError("labels of an unknown form")
    if content[0]:
        raw = inflated(bytes(content[1:]), count * content[0])
        return np.frombuffer(raw, f"<i{content[0]}").astype(np.int32)
    pairs = np.frombuffer(inflated(bytes(content[2:]), -(-count // 2)), np.uint8)
    places = np.stack([pairs >> 4, pairs & 15], axis=1).reshape(-1)[:count].astype(np.int32)
    return np.where(places < content[1], places - content[1], places - content[1] + 1)
