"""Reader of npz files: named NumPy arrays in a zip archive, read without unpickling."""

from __future__ import annotations

import numpy as np

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats.archive import ZipArchive
from cnet.formats.base import Document, FlatLeaf, shown
from cnet.formats.npy import NpyMember, npy_member
from cnet.weights import Tensor

MAX_DIMENSIONS = 32


def is_npz(archive: ZipArchive) -> bool:
    """Whether an archive is an npz: arrays and nothing else."""
    return bool(archive.names) and all(name.endswith(".npy") for name in archive.names)


def read_npz(archive: ZipArchive) -> Document:
    """The arrays of an npz file, in the order of its directory; any byte order and Fortran order are taken.

    Raises:
        CheckpointError: ``corrupt``, ``truncated``, ``unsafe_pickle``, ``unsupported_dtype``.
    """
    members = [npy_member(archive, name) for name in archive.names]
    return Document("npz", {member.name: _leaf(member) for member in members})


def _leaf(member: NpyMember) -> FlatLeaf:
    name = _element_type(member)
    if len(member.shape) > MAX_DIMENSIONS:
        raise CheckpointError(
            f"array {shown(member.name)} has {len(member.shape)} dimensions; at most {MAX_DIMENSIONS} are taken",
            code="unsupported_layout",
        )

    def load(tensor: str) -> Tensor:
        return Tensor(tensor, name, member.load())

    return FlatLeaf(member.elements, member.nbytes, load)


def _element_type(member: NpyMember) -> str:
    name = member.dtype.name
    if member.dtype.kind in "biufc":
        try:
            return dtypes.by_name(name).name
        except CheckpointError:
            pass
    raise CheckpointError(
        f"array {shown(member.name)} has element type {shown(np.dtype(member.dtype).str)}, which is not supported: "
        "convert it before saving",
        code="unsupported_dtype",
    )
