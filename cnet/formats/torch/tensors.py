"""Tensors of torch files: views (offset, shape, strides) of storages, read as contiguous arrays."""

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
from cnet.formats.parsing.contents import (
    MAX_DIMENSIONS,
    StoredTensor,
    contiguous,
    damaged,
    supported_dtype,
    too_many_dimensions,
)
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Tensor

_UNSUPPORTED_SIZES = {  # bytes per element of types that cannot be read, but must be skipped
    "complex32": 4,
    "qint32": 4,
}


def itemsize(dtype: str) -> int:
    """Bytes per element of an element type. Types that are neither supported nor in the table take one byte."""
    try:
        return dtypes.by_name(dtype).numpy.itemsize
    except CheckpointError:
        return _UNSUPPORTED_SIZES.get(dtype, 1)


@dataclass(frozen=True, eq=False)
class TorchStorage:
    """Consecutive elements of one type in the file.

    Attributes:
        key: its name in the file.
        dtype: name of the element type.
        nbytes: its length in bytes.
        read: returns its bytes, uint8, shape (n,); called only when a tensor is loaded.
        start: its first byte within those that ``read`` returns (old files have storages within storages).
        big_endian: whether its elements are big-endian.
    """

    key: str
    dtype: str
    nbytes: int
    read: Callable[[], npt.NDArray[np.uint8]]
    start: int = 0
    big_endian: bool = False

    def with_dtype(self, dtype: str) -> TorchStorage:
        """The same bytes as elements of another type."""
        return replace(self, dtype=dtype)

    def elements(self, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
        """A view of all complete elements, shape (n,), in the byte order of the file."""
        stop = self.start + self.nbytes - self.nbytes % dtype.itemsize
        return self.read()[self.start : stop].view(dtype.newbyteorder(">") if self.big_endian else dtype)


@dataclass(frozen=True, eq=False)
class UnreadableTensor(StoredTensor):
    """A tensor of a layout that is not supported: sparse, quantized, on the meta device, ..."""

    layout: str

    @property
    def elements(self) -> int:
        """0: nothing is loaded."""
        return 0

    @property
    def nbytes(self) -> int:
        """0: nothing is loaded."""
        return 0

    def load(self, name: str) -> Tensor:
        """Raise CheckpointError (``unsupported_layout``)."""
        raise CheckpointError(
            f"tensor {quoted(name)}: it is {self.layout}. Save it as a dense tensor with values.",
            code="unsupported_layout",
        )


@dataclass(frozen=True, eq=False)
class TorchTensor(StoredTensor):
    """A view of a storage, checked to lie within it.

    ``conjugate`` and ``negative`` are operations that PyTorch stores and does not apply to views of complex tensors.
    """

    storage: TorchStorage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    conjugate: bool = False
    negative: bool = False

    @classmethod
    def build(
        cls, storage: TorchStorage, offset: object, shape: object, strides: object, metadata: Mapping[object, object]
    ) -> TorchTensor:
        """Check a view as the file states it. Raises UnpicklingError where it reaches beyond its storage."""
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
        """Equal for equal views of one storage; None for empty tensors."""
        if not self.elements:
            return None
        place = (self.storage.key, self.storage.start, self.storage.dtype, self.offset)
        return (*place, self.shape, self.strides, self.conjugate, self.negative)

    def load(self, name: str) -> Tensor:
        """The tensor with its values in C order; a view where they are contiguous, otherwise a copy."""
        dtype = supported_dtype(name, self.storage.dtype)
        if len(self.shape) > MAX_DIMENSIONS:
            raise too_many_dimensions(name, len(self.shape))
        data: npt.NDArray[Any] = contiguous(self._view(dtype.numpy), dtype.numpy)
        if self.negative:
            if not dtype.native:  # only parts of complex tensors have the bit, which are float32 or float64
                raise damaged(f"tensor {quoted(name)}", f"its element type {dtype.name} cannot have a negative bit")
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
        raise UnpicklingError("a shape or strides that are not natural numbers")
    return tuple(value)
