"""Npz files: named NumPy arrays in a zip archive, read without unpickling."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from cnet import dtypes
from cnet.errors import CheckpointError, CnetError
from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.parsing.contents import (
    MAX_DIMENSIONS,
    CheckpointContents,
    StoredArray,
    supported_dtype,
    too_many_dimensions,
    unsupported_dtype,
)
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.npy_arrays import NpyArray, read_npy_header
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.zip_archive import ZipArchive, is_zip
from cnet.formats.writing import TensorsToWrite, write_chunks

_BUNDLE, _BUNDLE_HEAD = b'{"format":"cnet-bundle"', 512  # text in the first bytes of the manifest of a bundle
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the first of the zip format, so that files of equal tensors are equal


@FORMATS.register("npz")
class Npz(CheckpointFormat):
    """NumPy's archive of arrays. bfloat16 and float8 are written as unsigned integers of their bits."""

    summary: ClassVar[str] = "NumPy's npz: named arrays, of any byte order and memory order."
    source: ClassVar[str] = "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html"
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)
    writable: ClassVar[bool] = True

    name: Literal["npz"] = "npz"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether a zip archive has arrays and nothing else."""
        if not is_zip(file):
            return False
        try:
            return has_only_arrays(ZipArchive(file, Limits()))
        except CheckpointError:
            return False  # a damaged archive of any kind

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The arrays, in the order of the directory.

        Raises:
            CheckpointError: ``corrupt``, ``truncated``, ``unsafe_pickle``, ``unsupported_dtype``,
                ``unsupported_layout``; ``not_a_state_dict`` for a bundle.
        """
        archive = ZipArchive(file, limits)
        if _is_bundle(archive):
            raise CheckpointError(
                "this file is a bundle, which is compressed already. Use `cnet unpack` to decode it, or name the "
                "checkpoint that it was made from.",
                code="not_a_state_dict",
            )
        arrays = [read_npy_header(archive, name) for name in archive.names]
        return CheckpointContents({array.name: _stored_array(array) for array in arrays})

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write what ``numpy.load`` reads. ``numpy.savez`` would refuse tensors called ``file``.

        Raises:
            CnetError: (``unwritable``) a name has a NUL character.
        """
        del template
        unwritable = [row.name for row in tensors.descriptions if "\0" in row.name]
        if unwritable:
            raise CnetError(
                f"tensor {quoted(unwritable[0])}: its name has a NUL character, after which names in npz files end. "
                "Write safetensors or torch.",
                code="unwritable",
            )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for row in tensors.descriptions:
                member = zipfile.ZipInfo(f"{row.name}.npy", _TIMESTAMP)
                member.compress_type = zipfile.ZIP_DEFLATED
                description = np.lib.format.dtype_to_descr(dtypes.by_name(row.dtype).numpy)
                header = {"descr": description, "fortran_order": False, "shape": row.shape}
                with archive.open(member, "w", force_zip64=True) as file:
                    np.lib.format.write_array_header_1_0(file, header)
                    write_chunks(file, tensors.chunks(row.name))


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle of ours, sound or damaged. Other npz files may have an array ``manifest`` too.

    Raises:
        OSError: the file cannot be opened.
    """
    try:
        file = MappedFile.open(path)
        return is_zip(file) and _is_bundle(ZipArchive(file, Limits()))
    except CheckpointError:
        return False


def _is_bundle(archive: ZipArchive) -> bool:
    """Whether the array ``manifest`` of an archive begins as the manifest of a bundle does."""
    name = "manifest.npy"
    return name in archive and _BUNDLE in archive.head(name, _BUNDLE_HEAD)


def has_only_arrays(archive: ZipArchive) -> bool:
    """Whether an archive is an npz: arrays and nothing else."""
    return bool(archive.names) and all(name.endswith(".npy") for name in archive.names)


def _stored_array(array: NpyArray) -> StoredArray:
    if array.dtype.kind not in "biufc":
        raise unsupported_dtype(array.name, np.dtype(array.dtype).str)
    dtype = supported_dtype(array.name, array.dtype.name)
    if len(array.shape) > MAX_DIMENSIONS:
        raise too_many_dimensions(array.name, len(array.shape))
    return StoredArray(dtype.name, array.shape, array.load)
