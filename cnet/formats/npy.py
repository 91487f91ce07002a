"""One array of an npz file: its ``.npy`` header, checked against the bytes that follow. Nothing is unpickled."""

from __future__ import annotations

import io
import tokenize
import warnings
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from cnet.errors import CheckpointError
from cnet.formats.archive import ZipArchive
from cnet.formats.base import owned, shown

_MAX_HEADER = 64 * 1024
_PEEK = 16  # magic, version and the longest length field
_HEADER_ERRORS = (
    *(ValueError, TypeError, KeyError, EOFError, OverflowError),
    *(SyntaxError, tokenize.TokenError, RecursionError, MemoryError),  # NumPy parses the header as a Python literal
)


@dataclass(frozen=True, eq=False)
class NpyMember:
    """One array of an archive, read up to its header.

    Attributes:
        name: the array's name (the member's, less ``.npy``).
        dtype: as the file has it, in its own byte order.
        shape: as the file has it.
    """

    archive: ZipArchive
    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    fortran_order: bool
    start: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.elements * self.dtype.itemsize

    def load(self) -> npt.NDArray[np.generic]:
        """The array in C order and little-endian. Raises CheckpointError (``corrupt``, ``truncated``)."""
        raw = self.archive.read(f"{self.name}.npy")[self.start :]
        shape = self.shape[::-1] if self.fortran_order else self.shape
        view = raw.view(self.dtype).reshape(shape)
        return owned(view.T if self.fortran_order else view, self.dtype.newbyteorder("<"))


def npy_member(archive: ZipArchive, filename: str) -> NpyMember:
    """Read the header of one member and check that its size is what the header states.

    Raises:
        CheckpointError: ``corrupt``; ``unsafe_pickle`` for an array of Python objects.
    """
    name = filename.removesuffix(".npy")
    file = io.BytesIO(archive.head(filename, _PEEK + _MAX_HEADER))
    try:
        shape, fortran_order, dtype = _header(file)
    except _HEADER_ERRORS as error:
        raise CheckpointError(f"array {shown(name)} has a damaged header", code="corrupt") from error
    if dtype.hasobject:
        raise CheckpointError(
            f"array {shown(name)} holds Python objects (dtype=object), which only unpickling could read: "
            "save plain numeric arrays, each under its own name",
            code="unsafe_pickle",
        )
    member = NpyMember(archive, name, dtype, shape, fortran_order, file.tell())
    if any(n < 0 for n in shape) or archive.size(filename) - member.start != member.nbytes:
        raise CheckpointError(
            f"array {shown(name)} states a shape that its bytes do not fill: the file is damaged", code="corrupt"
        )
    return member


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = npy_format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"npy version {version}")
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes and Python 2 integers in the header's text
        shape, fortran_order, dtype = read(file)
    return tuple(int(n) for n in shape), bool(fortran_order), dtype
