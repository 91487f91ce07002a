"""What a format's reader returns: a tree of dicts whose leaves are tensors that are still in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats.parsing.mapped_file import Limits
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Tensor

MAX_DIMENSIONS = 32
"""The most dimensions of a tensor. NumPy before 2.0 has no arrays of more."""


@dataclass(frozen=True)
class Notice:
    """A warning for the user: a stable code, a sentence, and the name of the tensor that it is about, if any."""

    code: str
    detail: str
    tensor: str | None = None

    def __str__(self) -> str:
        """The sentence, after the name of the tensor that it is about."""
        return self.detail if self.tensor is None else f"tensor {quoted(self.tensor)}: {self.detail}"


class StoredTensor(ABC):
    """A tensor that is still in the file."""

    @property
    @abstractmethod
    def elements(self) -> int:
        """Number of elements that the file claims."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Number of bytes that ``load`` allocates or maps."""

    @property
    def identity(self) -> Hashable | None:
        """A value that two names of one tensor share and no others have; None where that is unknown."""
        return None

    @abstractmethod
    def load(self, name: str) -> Tensor:
        """The tensor, contiguous and little-endian, as a read-only view of the mapped file where that is possible."""


@dataclass(frozen=True, eq=False)
class StoredArray(StoredTensor):
    """A tensor of a format that stores whole arrays (safetensors, npz, ONNX).

    Attributes:
        dtype: name of the element type (``cnet.dtypes``).
        shape: its shape.
        read: returns its values, an array of ``shape`` in the storage type of ``dtype``, in C order.
    """

    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], npt.NDArray[np.generic]]

    @classmethod
    def of(cls, name: str, values: npt.NDArray[np.generic]) -> StoredArray:
        """An array that was read already.

        Args:
            name: of the tensor, for messages.
            values: array of any shape, of a NumPy type that checkpoints can have.

        Raises:
            CheckpointError: ``unsupported_dtype``.
        """
        dtype = supported_dtype(name, values.dtype.name)
        return cls(dtype.name, values.shape, lambda: contiguous(values, dtype.numpy))

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.elements * dtypes.by_name(self.dtype).numpy.itemsize

    def load(self, name: str) -> Tensor:
        """Read the values."""
        return Tensor(name, self.dtype, self.read())


@dataclass(frozen=True, eq=False)
class CheckpointContents:
    """What a file holds.

    Attributes:
        root: a dict whose values are stored tensors, dicts of the same kind, and other objects, which are not weights.
            Anything else is refused later, with a message that says what was found.
        tied: groups of names that share one tensor, as stated by the file; torch files show ties by their storages.
        notices: what the user should know about the file.
        metadata: text by key that the file states about itself, such as the author.
    """

    root: object
    tied: tuple[tuple[str, ...], ...] = ()
    notices: tuple[Notice, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def supported_dtype(name: str, dtype: str) -> dtypes.DType:
    """The element type called ``dtype`` of the tensor ``name``. Raises CheckpointError (``unsupported_dtype``)."""
    try:
        return dtypes.by_name(dtype)
    except CheckpointError as error:
        raise unsupported_dtype(name, dtype) from error


def unsupported_dtype(name: str, dtype: str) -> CheckpointError:
    """The error for a tensor of an element type that is not supported."""
    return CheckpointError(
        f"tensor {quoted(name)}: its element type {dtype} is not supported. "
        f"Convert it to one of these before saving: {', '.join(sorted(dtypes.names()))}.",
        code="unsupported_dtype",
    )


def too_many_dimensions(name: str, dimensions: int) -> CheckpointError:
    """The error for a tensor of more than 32 dimensions."""
    return CheckpointError(
        f"tensor {quoted(name)}: it has {dimensions} dimensions, and at most {MAX_DIMENSIONS} are supported. "
        "Reshape it before saving.",
        code="unsupported_layout",
    )


def damaged(what: str, fault: str) -> CheckpointError:
    """The error (``corrupt``) for a file whose contents contradict each other."""
    return CheckpointError(f"{what}: {fault}, so the file is damaged. Save or upload it again.", code="corrupt")


def contiguous(view: npt.NDArray[Any], dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """``view``, any shape, as an array in C order, aligned and of type ``dtype``; copied only where needed."""
    if view.flags.c_contiguous and view.flags.aligned and view.dtype == dtype:
        return view
    return np.array(view, dtype=dtype, order="C", copy=True)


def check_limits(tensors: Mapping[str, StoredTensor], file_size: int, limits: Limits) -> None:
    """Refuse tensors that claim more than ``limits`` allow. Nothing is loaded.

    Raises:
        CheckpointError: ``too_many_elements``.
    """
    elements = sum(tensor.elements for tensor in tensors.values())
    if elements > limits.elements:
        raise CheckpointError(
            f"the tensors have {elements} elements, and at most {limits.elements} are accepted. "
            "Save fewer or smaller tensors.",
            code="too_many_elements",
        )
    needed, allowed = sum(tensor.nbytes for tensor in tensors.values()), limits.decoded_bytes(file_size)
    if needed > allowed:
        raise CheckpointError(
            f"the tensors of this file of {file_size} bytes take {needed} bytes when they are read, and at most "
            f"{allowed} are accepted. Save the checkpoint uncompressed.",
            code="too_many_elements",
        )
