"""Arrays of npz files: ``.npy`` members, whose headers are checked against their bytes. Nothing is unpickled."""

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
from cnet.formats.parsing.contents import contiguous, damaged
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.zip_archive import ZipArchive

_LONGEST_HEADER = 64 * 1024  # bytes
_OF_ML_DTYPES = {1: "float8", 2: "bfloat16"}  # by bytes per element of the raw data that NumPy saves
_PREFIX = 16  # magic, version and the longest length field
_HEADER_ERRORS = (
    *(ValueError, TypeError, KeyError, EOFError, OverflowError),
    *(SyntaxError, tokenize.TokenError, RecursionError, MemoryError),  # NumPy parses the header as a Python literal
)


@dataclass(frozen=True, eq=False)
class NpyArray:
    """An array of an archive, of which only the header was read.

    Attributes:
        archive: the archive that contains it.
        name: the name of the member without ``.npy``.
        dtype: as stated by the header, in the byte order of the file.
        shape: as stated by the header.
        fortran_order: whether the first axis varies fastest.
        start: number of bytes before the values.
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
        return contiguous(view.T if self.fortran_order else view, self.dtype.newbyteorder("<"))


def read_npy_header(archive: ZipArchive, filename: str) -> NpyArray:
    """Read the header of the member ``filename`` and check that the size of the member is what the header states.

    Raises:
        CheckpointError: ``corrupt``; ``unsafe_pickle`` for an array of Python objects.
    """
    name = filename.removesuffix(".npy")
    file = io.BytesIO(archive.head(filename, _PREFIX + _LONGEST_HEADER))
    try:
        shape, fortran_order, dtype = _header(file)
    except _HEADER_ERRORS as error:
        if any(code in file.getvalue()[: _PREFIX + 200] for code in (b"'<f1'", b"'|f1'", b"'>f1'")):
            raise _of_ml_dtypes(name, "float8_e5m2") from error
        raise damaged(f"array {quoted(name)}", "its header cannot be read") from error
    if dtype.kind == "V" and dtype.names is None and dtype.itemsize in _OF_ML_DTYPES:
        raise _of_ml_dtypes(name, _OF_ML_DTYPES[dtype.itemsize])
    if dtype.hasobject:
        raise CheckpointError(
            f"array {quoted(name)}: it holds Python objects (dtype=object), which only unpickling could read. "
            "Save plain numeric arrays, each under its own name.",
            code="unsafe_pickle",
        )
    member = NpyArray(archive, name, dtype, shape, fortran_order, file.tell())
    if any(n < 0 for n in shape) or archive.size(filename) - member.start != member.nbytes:
        raise damaged(f"array {quoted(name)}", f"its bytes do not fill the stated shape {shape}")
    return member


def _of_ml_dtypes(name: str, dtype: str) -> CheckpointError:
    """The error for an element type of the package ml_dtypes, which npz files do not name."""
    return CheckpointError(
        f"array {quoted(name)}: its element type is probably {dtype} of ml_dtypes, which npz files cannot name. "
        "Save it with array.astype(numpy.float32), or the checkpoint as safetensors.",
        code="unsupported_dtype",
    )


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = npy_format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"npy version {version}")
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of escapes and Python 2 integers in the text of the header
        shape, fortran_order, dtype = read(file)
    return tuple(int(n) for n in shape), bool(fortran_order), dtype
