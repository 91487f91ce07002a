"""Mask and labels of a small network, deflated by zlib without a probability model of our own."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.deflate import inflate

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_NIBBLES, _BYTES, _WORDS = 0, 1, 4
_NIBBLE_VALUES = 16


def deflate_network(keep: Bools, signed: Ints) -> tuple[bytes, bytes]:
    """The mask stream, ``numpy.packbits`` deflated, and the label stream.

    The label stream is the smallest of these forms, all deflated after their first byte: 4-byte integers (4), 1-byte
    integers (1), and, where there are at most 16 values, 4-bit integers (0), before which a byte says how many of the
    values are negative.

    Args:
        keep: which weights are non-zero: bool, shape (weights,).
        signed: their signed labels, none 0: int32, shape (non-zeros,).
    """
    return zlib.compress(np.packbits(keep).tobytes(), 9), _deflate_labels(signed)


def inflate_network(mask: memoryview, labels: memoryview, weights: int) -> tuple[Bools, Ints]:
    """The inverse of ``deflate_network``.

    Raises:
        ValueError: the bytes are not those of ``weights`` weights.
    """
    packed = inflate(bytes(mask), -(-weights // 8))
    keep = np.unpackbits(np.frombuffer(packed, np.uint8), count=weights).astype(np.bool_)
    signed = _inflate_labels(labels, int(np.count_nonzero(keep)))
    if np.any(signed == 0):
        raise ValueError("labels stream: a non-zero weight has the label of a zero. Write the bundle again.")
    return keep, signed


def _deflate_labels(signed: Ints) -> bytes:
    widest = int(np.max(np.abs(signed), initial=0))
    forms = [bytes([_WORDS]) + zlib.compress(signed.astype("<i4").tobytes(), 9)] if widest > 127 else []
    if widest <= 127:
        forms.append(bytes([_BYTES]) + zlib.compress(signed.astype("<i1").tobytes(), 9))
    negative = max(0, -int(np.min(signed, initial=0)))
    if negative + max(0, int(np.max(signed, initial=0))) <= _NIBBLE_VALUES:
        ranks = np.where(signed < 0, signed + negative, signed + negative - 1).astype(np.uint8)
        pairs = np.pad(ranks, (0, len(ranks) % 2)).reshape(-1, 2)
        forms.append(bytes([_NIBBLES, negative]) + zlib.compress((pairs[:, 0] << 4 | pairs[:, 1]).tobytes(), 9))
    return min(forms, key=len)


def _inflate_labels(content: memoryview, count: int) -> Ints:
    if len(content) < 2 or content[0] not in (_NIBBLES, _BYTES, _WORDS):
        raise ValueError("labels stream: its form is unknown. Write the bundle again.")
    if content[0]:
        raw = inflate(bytes(content[1:]), count * content[0])
        return np.frombuffer(raw, f"<i{content[0]}").astype(np.int32)
    negative = content[1]
    pairs = np.frombuffer(inflate(bytes(content[2:]), -(-count // 2)), np.uint8)
    ranks = np.stack([pairs >> 4, pairs & 15], axis=1).reshape(-1)[:count].astype(np.int32)
    return np.where(ranks < negative, ranks - negative, ranks - negative + 1)
