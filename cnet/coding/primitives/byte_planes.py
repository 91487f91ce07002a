"""Numbers as bytes, one plane for each byte of a number, each plane entropy-coded where that makes it smaller.

The high bytes of floating-point numbers (sign and exponent) take few values and code well; those of the mantissa are
noise and stay as they are.

Each plane, that of the lowest bytes first, is one of: 0 and its bytes as they are; 1 and the one byte that all of it
consists of; or its length in coded form, and its bytes under an adaptive model (``entropy_coder``). The numbers are
variable-length integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyDecoder, EntropyEncoder
from cnet.coding.primitives.varint import decode_varint, encode_varint

_RAW = 0
_CONSTANT = 1  # a coded plane is never so short: the coder's words are of four bytes
_VALUES = 256
_INITIAL_COUNT = 2
_MAX_NUMBERS_PER_BYTE = 2**20  # more than a byte of the coder can hold


def pack_planes(numbers: npt.NDArray[np.generic]) -> bytes:
    """The numbers of an array of any shape and dtype, little-endian, without dtype and length."""
    width = numbers.dtype.itemsize
    planes = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).reshape(-1, width)
    return b"".join(_pack_plane(np.ascontiguousarray(planes[:, place])) for place in range(width))


def unpack_planes(content: memoryview, count: int, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """The inverse of ``pack_planes``: shape (count,), of type ``dtype``.

    Raises:
        ValueError: the bytes are not those of ``count`` such numbers.
    """
    if count > _MAX_NUMBERS_PER_BYTE * (len(content) + 1):
        raise ValueError(f"byte planes: {len(content)} bytes are too few for {count} numbers. Write the bundle again.")
    planes = np.empty((count, dtype.itemsize), np.uint8)
    for place in range(dtype.itemsize):
        size, content = decode_varint(content)
        if size == _CONSTANT:
            planes[:, place] = _constant(content)
            content = content[1:]
        elif size == _RAW:
            plane, content = content[:count], content[count:]
            planes[:, place] = np.frombuffer(plane, np.uint8, count)
        else:
            planes[:, place] = _unpack_plane(content[:size], count)
            content = content[size:]
    if len(content):
        raise ValueError(f"byte planes: {len(content)} bytes follow their end. Write the bundle again.")
    return planes.reshape(-1).view(dtype)


def _pack_plane(plane: npt.NDArray[np.uint8]) -> bytes:
    if len(plane) > 1 and np.all(plane == plane[0]):
        return encode_varint(_CONSTANT) + plane[:1].tobytes()
    encoder = EntropyEncoder()
    encoder.code(_model(), plane.astype(np.int32), len(plane))
    coded = encoder.finish()
    if 0 < len(coded) < len(plane):
        return encode_varint(len(coded)) + coded
    return encode_varint(_RAW) + plane.tobytes()


def _constant(content: memoryview) -> int:
    if not len(content):
        raise ValueError("byte planes: they are cut off. Write the bundle again.")
    return content[0]


def _unpack_plane(content: memoryview, count: int) -> npt.NDArray[np.uint8]:
    decoder = EntropyDecoder(bytes(content))
    plane = decoder.code(_model(), None, count).astype(np.uint8)
    decoder.finish()
    return plane


def _model() -> AdaptiveModel:
    return AdaptiveModel(_VALUES, initial_count=_INITIAL_COUNT, long_blocks=True)
