"""What the readers of all formats share: the file, its limits, what a stored tensor is, and the result."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.weights import Tensor, Weights


@dataclass(frozen=True)
class Limits:
    """How much a file may claim before it is refused; checked before anything is allocated.

    Attributes:
        elements: elements of all tensors together.
        pickle_bytes: bytes of the pickled part of a torch file (names, shapes and settings; not the values).
        header_bytes: bytes of a safetensors header (the format's own cap).
        free_bytes, expansion: the tensors may need ``free_bytes + expansion * size of the file`` bytes. A file
            that needs more is built to exhaust memory: compressed zeros, or one value repeated by strides of zero.
    """

    elements: int = 2**34
    pickle_bytes: int = 64 * 2**20
    header_bytes: int = 100_000_000
    free_bytes: int = 2**30
    expansion: int = 64

    def decoded_bytes(self, file_size: int) -> int:
        """The most bytes that the tensors of a file of this size may need."""
        return self.free_bytes + self.expansion * file_size


@dataclass(frozen=True)
class Notice:
    """A warning for the user: a stable code, a sentence, and the tensor that it is about, if it is about one."""

    code: str
    detail: str
    tensor: str | None = None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint as read.

    Attributes:
        weights: its tensors under their canonical names, in the order of the file.
        format: ``safetensors``, ``torch``, ``npz`` or ``onnx``.
        weights_key: the entry that held the weights, with dots for nesting; None for the top level.
        stripped_prefix: what was cut from the start of every name, such as ``module.``; None where nothing was.
        warnings: what the user should know.
    """

    weights: Weights
    format: str
    weights_key: str | None
    stripped_prefix: str | None
    warnings: tuple[Notice, ...]


class Leaf(Protocol):
    """A tensor that is still in the file."""

    @property
    def elements(self) -> int:
        """Number of elements, as claimed by the file."""

    @property
    def nbytes(self) -> int:
        """Bytes that ``load`` gives."""

    @property
    def identity(self) -> Hashable | None:
        """Equal for two leaves exactly where they are one tensor under two names; None where that is not known."""

    def load(self, name: str) -> Tensor:
        """The tensor, contiguous, little-endian; a read-only view of the mapped file where that is possible."""


@dataclass(frozen=True, eq=False)
class FlatLeaf:
    """A tensor of a format that stores whole arrays (safetensors, npz, ONNX)."""

    elements: int
    nbytes: int
    load: Callable[[str], Tensor]
    identity: Hashable | None = None


@dataclass(frozen=True, eq=False)
class Document:
    """What a format's reader makes of a file: a tree of dicts whose leaves are tensors and other objects.

    ``tied`` is what the file itself says about ties (our canonical form does); torch files tell by their storages.
    ``notices`` is what the user should know about the file.
    """

    format: str
    root: object
    tied: tuple[tuple[str, ...], ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, eq=False)
class Source:
    """A file, mapped read-only."""

    path: Path
    size: int
    mapped: mmap.mmap = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Source:
        """Map ``path``. Raises CheckpointError (``empty_file``), and OSError where it cannot be opened."""
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                raise CheckpointError("the file is empty (0 bytes): upload it again", code="empty_file")
            return cls(path, size, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def array(self, start: int, count: int) -> npt.NDArray[np.uint8]:
        """``count`` bytes from ``start``, not copied. Raises CheckpointError (``truncated``)."""
        if start < 0 or count < 0 or start + count > self.size:
            raise CheckpointError(
                "the file ends before its contents do: it was cut off; upload it again", code="truncated"
            )
        return np.frombuffer(self.mapped, np.uint8, count, start)


def shown(value: object) -> str:
    """A name from the file, quoted and cut to a length fit for a message."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


def listed(values: Iterable[object], most: int = 10) -> str:
    """Some names, quoted, with a count of those left out."""
    rows = [shown(value) for value in values]
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return ", ".join(rows[:most]) + more


def supported(name: str, dtype: str) -> dtypes.DType:
    """The element type of the tensor ``name``. Raises CheckpointError (``unsupported_dtype``) naming both."""
    try:
        return dtypes.by_name(dtype)
    except CheckpointError as error:
        raise CheckpointError(
            f"tensor {shown(name)} has element type {dtype}, which is not supported: convert it before saving",
            code="unsupported_dtype",
        ) from error


def owned(view: npt.NDArray[Any], dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """``view`` in C order and native to ``dtype``: itself where it already is, else a copy. Keeps 0-d arrays 0-d."""
    if view.flags.c_contiguous and view.flags.aligned and view.dtype == dtype:
        return view
    return np.array(view, dtype=dtype, order="C", copy=True)


def check_budget(leaves: Mapping[str, Leaf], file_size: int, limits: Limits) -> None:
    """Refuse what claims more than the limits allow, before anything is allocated.

    Raises:
        CheckpointError: ``too_many_elements``.
    """
    elements = sum(leaf.elements for leaf in leaves.values())
    if elements > limits.elements:
        raise CheckpointError(
            f"the tensors have {elements} elements; at most {limits.elements} are taken", code="too_many_elements"
        )
    needed, allowed = sum(leaf.nbytes for leaf in leaves.values()), limits.decoded_bytes(file_size)
    if needed > allowed:
        raise CheckpointError(
            f"the tensors of this file of {file_size} bytes unfold to {needed} bytes; at most {allowed} are taken",
            code="too_many_elements",
        )
