"""Members of a bundle's file: their names, their order, and how each is stored."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

SEPARATE = ("mask", "labels", "centroids", "other", "manifest")
"""Members, in order, where each part of the network has one; all but the manifest may be missing."""

JOINED = ("data", "manifest")
"""Members, in order, where one holds all parts."""

STORED = frozenset({"data"})
"""Members that are stored as they are; all others are deflated."""

_PADDED = frozenset({"mask", "labels", "centroids", "other"})  # members whose .npy header is padded as NumPy pads it


@dataclass(frozen=True)
class ArrayMember:
    """A deflated member that holds one array.

    Attributes:
        descr: NumPy type of the elements, such as ``<f4``.
        length: number of elements.
        digest: of the member's deflated bytes (``cnet.bundle.container.digests``).
    """

    descr: str
    length: int
    digest: str


def npy_header(member: str, descr: str, length: int) -> bytes:
    """First bytes of the version 1.0 .npy file (NumPy's NEP 1) of a member: ``length`` elements of type ``descr``."""
    if member in _PADDED:
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({length},), }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
    else:
        text = f"{{'descr':'{descr}','fortran_order':False,'shape':({length},)}}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def npy_bytes(member: str, descr: str, length: int) -> int:
    """Size of that .npy file in bytes, its header included."""
    return len(npy_header(member, descr, length)) + length * np.dtype(descr).itemsize
