"""Element types: their names, their storage in NumPy, and conversion to float32 and back.

NumPy has no bfloat16 and no float8, so their arrays are stored as unsigned integers of the same width (their bits).
Names are those of PyTorch without ``torch.``; safetensors codes are those of its format specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError


@dataclass(frozen=True)
class DType:
    """An element type.

    Attributes:
        name: its name in PyTorch, such as ``float32``.
        safetensors: its code in safetensors files. ``C128`` is our own, for canonical files alone.
        storage: the little-endian NumPy type that stores its bits, such as ``<f4``.
        floating: whether its values are floating-point numbers.
    """

    name: str
    safetensors: str
    storage: str
    floating: bool

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type of arrays that store it."""
        return np.dtype(self.storage)

    @property
    def native(self) -> bool:
        """Whether NumPy can compute with it; False for bfloat16 and float8, which are stored as bits."""
        return not (self.floating and self.storage[1] == "u")


_ALL = (
    DType("float64", "F64", "<f8", floating=True),
    DType("float32", "F32", "<f4", floating=True),
    DType("float16", "F16", "<f2", floating=True),
    DType("bfloat16", "BF16", "<u2", floating=True),
    DType("float8_e4m3fn", "F8_E4M3", "|u1", floating=True),
    DType("float8_e5m2", "F8_E5M2", "|u1", floating=True),
    DType("complex64", "C64", "<c8", floating=False),
    DType("complex128", "C128", "<c16", floating=False),
    DType("int64", "I64", "<i8", floating=False),
    DType("int32", "I32", "<i4", floating=False),
    DType("int16", "I16", "<i2", floating=False),
    DType("int8", "I8", "|i1", floating=False),
    DType("uint64", "U64", "<u8", floating=False),
    DType("uint32", "U32", "<u4", floating=False),
    DType("uint16", "U16", "<u2", floating=False),
    DType("uint8", "U8", "|u1", floating=False),
    DType("bool", "BOOL", "|b1", floating=False),
)
_BY_NAME = {dtype.name: dtype for dtype in _ALL}
_BY_SAFETENSORS = {dtype.safetensors: dtype for dtype in _ALL}


def names() -> frozenset[str]:
    """The names of all element types."""
    return frozenset(_BY_NAME)


def by_name(name: str) -> DType:
    """The element type called ``name``. Raises CheckpointError (``unsupported_dtype``)."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise _unsupported(f"element type {name[:40]!r}") from None


def by_safetensors(code: str) -> DType:
    """The element type of a safetensors code. Raises CheckpointError (``unsupported_dtype``)."""
    try:
        return _BY_SAFETENSORS[code]
    except KeyError:
        raise _unsupported(f"safetensors element type {code[:40]!r}") from None


def _unsupported(what: str) -> CheckpointError:
    known = ", ".join(sorted(_BY_NAME))
    return CheckpointError(f"{what}: it is not supported. Use one of: {known}.", code="unsupported_dtype")


def widen(bits: npt.NDArray[np.generic], name: str) -> npt.NDArray[np.generic]:
    """The exact values as float32 where NumPy cannot compute with the element type; otherwise ``bits`` itself.

    Args:
        bits: array of any shape in the storage type of ``name``.
        name: name of the element type.
    """
    if name == "bfloat16":
        return np.asarray((bits.astype(np.uint32) << 16).view(np.float32))
    if name in _FLOAT8:
        return np.asarray(_float8_table(name)[bits])  # indexing by a 0-d array does not return an array
    return bits


def narrow(values: npt.NDArray[np.floating], name: str) -> npt.NDArray[np.generic]:
    """Real values in the storage type of an element type, rounded to nearest, ties to even.

    Values beyond the range become infinite; in float8_e4m3fn, which has no infinity, they become the largest value.
    ``narrow(widen(bits, name), name)`` returns ``bits`` for every value except NaN payloads.

    Args:
        values: floating-point array of any shape.
        name: name of the element type.
    """
    dtype = by_name(name)
    with np.errstate(over="ignore"):
        if name == "bfloat16":
            return _round_bfloat16(np.asarray(values, np.float32))
        if name in _FLOAT8:
            return _round_to_table(np.asarray(values, np.float32), _float8_table(name))
        return values.astype(dtype.numpy)


_FLOAT8 = {"float8_e4m3fn": (4, 3, 7), "float8_e5m2": (5, 2, 15)}  # exponent bits, mantissa bits, bias


def _round_bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    bits = values.view(np.uint32).astype(np.uint64)  # 64 bits, so that the bits of NaN do not overflow
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet_nan, rounded).astype(np.uint16)


@cache
def _float8_table(name: str) -> npt.NDArray[np.float32]:
    """The 256 values of an 8-bit float (OCP 8-bit Floating Point Specification, revision 1.0)."""
    exponent_bits, mantissa_bits, bias = _FLOAT8[name]
    code = np.arange(256)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    scale = np.exp2(np.maximum(exponent, 1).astype(np.float64) - bias)
    table = np.where(exponent == 0, mantissa, 1 + mantissa) * scale
    top = exponent == (1 << exponent_bits) - 1
    if name == "float8_e5m2":
        table = np.where(top, np.where(mantissa == 0, np.inf, np.nan), table)
    else:
        table = np.where((code & 0x7F) == 0x7F, np.nan, table)
    return np.where(code & 0x80, -table, table).astype(np.float32)


def _round_to_table(values: npt.NDArray[np.float32], table: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """The code of the nearest entry of ``table``, whose first 128 entries ascend from 0; ties go to the even code."""
    finite = table[:128][np.isfinite(table[:128])].astype(np.float64)
    steps = np.append(finite, 2 * finite[-1] - finite[-2])  # values that round to the entry after the last overflow
    largest = len(finite) if np.any(np.isinf(table)) else len(finite) - 1
    magnitude = np.abs(values).astype(np.float64)
    upper = np.clip(np.searchsorted(steps, magnitude), 1, len(finite))
    up, down = steps[upper] - magnitude, magnitude - steps[upper - 1]
    code = np.where((up < down) | ((up == down) & (upper % 2 == 0)), upper, upper - 1)
    code = np.where(np.isnan(values), 0x7F, np.minimum(code, largest))
    return np.where(np.signbit(values), code | 0x80, code).astype(np.uint8)
