"""A tensor of a torch file: a view (offset, shape, strides) of a storage, read as a contiguous array."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pickle import UnpicklingError
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats.base import owned, shown, supported
from cnet.weights import Tensor

MAX_DIMENSIONS = 32
_UNSUPPORTED_SIZES = {  # bytes an element of types that we cannot read but must be able to step over
    "complex128": 16,
    "complex32": 4,
    "qint32": 4,
}


def itemsize(dtype: str) -> int:
    """Bytes an element. All types that are not ours and not in the table take one."""
    try:
        return dtypes.by_name(dtype).numpy.itemsize
    except CheckpointError:
        return _UNSUPPORTED_SIZES.get(dtype, 1)


@dataclass(frozen=True, eq=False)
class Storage:
    """A run of elements of one type in the file.

    Attributes:
        key: its name in the file.
        dtype: element type.
        nbytes: its length.
        read: gives its bytes; called only when a tensor is loaded.
        start: where it begins within the bytes that ``read`` gives (old files have storages within storages).
        big_endian: byte order of its elements.
    """

    key: str
    dtype: str
    nbytes: int
    read: Callable[[], npt.NDArray[np.uint8]]
    start: int = 0
    big_endian: bool = False

    def of(self, dtype: str) -> Storage:
        """The same bytes as elements of another type."""
        return replace(self, dtype=dtype)

    def elements(self, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
        """All whole elements, in the file's byte order; not copied."""
        stop = self.start + self.nbytes - self.nbytes % dtype.itemsize
        return self.read()[self.start : stop].view(dtype.newbyteorder(">") if self.big_endian else dtype)


@dataclass(frozen=True, eq=False)
class Unreadable:
    """A tensor whose layout has no array: sparse, quantized, meta and the like."""

    layout: str
    elements: int = 0
    nbytes: int = 0
    identity: Hashable | None = None

    def load(self, name: str) -> Tensor:
        """Always raises CheckpointError (``unsupported_layout``)."""
        raise CheckpointError(
            f"tensor {shown(name)} is {self.layout}: save it as a dense tensor with values", code="unsupported_layout"
        )


@dataclass(frozen=True, eq=False)
class TorchTensor:
    """A checked view of a storage. ``conjugate`` and ``negative`` are the lazy bits of complex tensors' views."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    conjugate: bool = False
    negative: bool = False

    @classmethod
    def build(
        cls, storage: Storage, offset: object, shape: object, strides: object, metadata: Mapping[object, object]
    ) -> TorchTensor:
        """A view, refused where it reaches beyond its storage. Raises UnpicklingError."""
        dimensions, steps = _naturals(shape), _naturals(strides)
        if type(offset) is not int or offset < 0 or len(dimensions) != len(steps):
            raise UnpicklingError("a tensor with a malformed shape")
        tensor = cls(storage, offset, dimensions, steps, metadata.get("conj") is True, metadata.get("neg") is True)
        if tensor.elements:
            last = offset + sum((n - 1) * step for n, step in zip(dimensions, steps, strict=True))
            if (last + 1) * itemsize(storage.dtype) > storage.nbytes:
                raise UnpicklingError("a tensor that reaches beyond its storage")
        return tensor

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.elements * itemsize(self.storage.dtype)

    @property
    def identity(self) -> Hashable | None:
        """The same storage, seen the same way. Empty tensors share nothing."""
        if not self.elements:
            return None
        place = (self.storage.key, self.storage.start, self.storage.dtype, self.offset)
        return (*place, self.shape, self.strides, self.conjugate, self.negative)

    def load(self, name: str) -> Tensor:
        """The values in C order. A slice of a large storage keeps its slice only."""
        dtype = supported(name, self.storage.dtype)
        if len(self.shape) > MAX_DIMENSIONS:
            raise CheckpointError(
                f"tensor {shown(name)} has {len(self.shape)} dimensions; at most {MAX_DIMENSIONS} are taken",
                code="unsupported_layout",
            )
        data: npt.NDArray[Any] = owned(self._view(dtype.numpy), dtype.numpy)
        if self.negative:
            if not dtype.native:  # only parts of complex tensors have the bit, and those are float32 or float64
                raise CheckpointError("a tensor with a negative bit is no floating-point number", code="corrupt")
            data = np.negative(data, out=np.empty_like(data))  # out keeps a 0-d array an array
        if self.conjugate:
            data = np.conjugate(data, out=np.empty_like(data))
        return Tensor(name, dtype.name, data)

    def _view(self, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
        if not self.elements:
            return np.empty(self.shape, dtype)
        part = self.storage.elements(dtype)[self.offset :]
        if self._contiguous():
            return part[: self.elements].reshape(self.shape)
        strides = tuple(step * dtype.itemsize for step in self.strides)
        return as_strided(part, self.shape, strides, writeable=False)

    def _contiguous(self) -> bool:
        expected = 1
        for size, step in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1:
                if step != expected:
                    return False
                expected *= size
        return True


def _naturals(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or any(type(n) is not int or not 0 <= n < 2**63 for n in value):
        raise UnpicklingError("a shape that is no list of natural numbers")
    return tuple(value)
