"""The zip and npy records of a sealed file, built from a few numbers (PKWARE APPNOTE 6.3; NumPy's NEP 1)."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDE = 2**31
"""Sizes and offsets from here on are written as zip64 has it."""

_MOST_MEMBERS = 5
_NONE = 0xFFFFFFFF  # "see the zip64 field"
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_FAR_END = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")


@dataclass(frozen=True)
class Form:
    """What files of some format versions have in common.

    Attributes:
        members: all that there can be, in the order of the file; the last is always there.
        stored: those that are not deflated.
        seal: length of the end record's comment.
        tight: whether the text of .npy headers is without spaces, and not padded.
    """

    members: tuple[str, ...]
    stored: frozenset[str]
    seal: int
    tight: bool

    def sealed(self, digest: bytes) -> bytes:
        """The comment for a sha256 of 32 bytes: as hex, or the first half of it in URL-safe base64, unpadded."""
        return base64.urlsafe_b64encode(digest[:16]).rstrip(b"=") if self.tight else digest.hex().encode()

    def npy_header(self, descr: str, length: int) -> bytes:
        """The first bytes of a version 1.0 .npy file that holds one dimension."""
        if self.tight:
            text = f"{{'descr':'{descr}','fortran_order':False,'shape':({length},)}}\n"
        else:
            text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({length},), }}"
            text += " " * (-(len(text) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()

    def npy_size(self, descr: str, length: int) -> int:
        """Bytes of the whole .npy file."""
        return len(self.npy_header(descr, length)) + length * np.dtype(descr).itemsize


APART = Form(("mask", "labels", "centroids", "other", "manifest"), frozenset(), 64, tight=False)
"""Versions 1 and 2: a member for each part."""

JOINED = Form(("data", "manifest"), frozenset({"data"}), 22, tight=True)
"""Version 3: all parts in one member, which is not deflated."""


@dataclass(frozen=True)
class Entry:
    """One member: its checksum, its size in the file and its own, where its local header begins, whether deflated."""

    name: str
    crc: int
    packed: int
    size: int
    offset: int
    deflated: bool = True

    def local(self, wide: int) -> bytes:
        """Its local header."""
        sizes = (self.packed, self.size) if self.size < wide else (_NONE, _NONE)
        extra = b"" if self.size < wide else struct.pack("<2H2Q", 1, 16, self.size, self.packed)
        fields = (20 if not extra else 45, 0, self.method, 0, 33, self.crc, *sizes, len(self.file), len(extra))
        return struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + self.file + extra

    def central(self, wide: int) -> bytes:
        """Its record in the directory."""
        sizes = (self.packed, self.size) if self.size < wide else (_NONE, _NONE)
        far = [] if self.size < wide else [self.size, self.packed]
        far += [] if self.offset < wide else [self.offset]
        extra = struct.pack(f"<2H{len(far)}Q", 1, 8 * len(far), *far) if far else b""
        version = 20 if not extra else 45
        fields = (version, version, 0, self.method, 0, 33, self.crc, *sizes, len(self.file), len(extra), 0, 0, 0, 0)
        place = self.offset if self.offset < wide else _NONE
        return _CENTRAL.pack(b"PK\1\2", *fields, place) + self.file + extra

    @property
    def method(self) -> int:
        """The zip's number for how it is packed."""
        return 8 if self.deflated else 0

    @property
    def file(self) -> bytes:
        """Its name in the zip file."""
        return f"{self.name}.npy".encode()

    def data(self, wide: int) -> int:
        """Where its deflated bytes begin."""
        return self.offset + len(self.local(wide))


def directory(entries: Sequence[Entry], start: int, wide: int, seal: int) -> bytes:
    """The central directory at ``start`` and the end record up to its comment."""
    records = b"".join(entry.central(wide) for entry in entries)
    count, end, place = len(entries), b"", start
    if start >= wide:
        far = _FAR_END.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(records), start)
        end = far + _LOCATOR.pack(b"PK\6\7", 0, start + len(records), 1)
        place = _NONE
    fields = (0, 0, count, count, len(records), place, seal)
    return records + end + _END.pack(b"PK\5\6", *fields)


CHUNK = 2**16
"""Bytes of a stored member that have a digest together."""


def chunk_digest(chunk: bytes) -> str:
    """The first half of a chunk's sha256 in URL-safe base64, unpadded."""
    return base64.urlsafe_b64encode(hashlib.sha256(chunk).digest()[:16]).rstrip(b"=").decode()


@dataclass(frozen=True)
class Packed:
    """What a manifest of version 1 or 2 says of a member: element type, number of elements, digest."""

    descr: str
    length: int
    sha256: str

    @property
    def size(self) -> int:
        """Bytes of the .npy file."""
        return APART.npy_size(self.descr, self.length)


def parse_directory(tail: bytes) -> tuple[list[Entry], int]:
    """The entries and the directory's offset, from bytes that end with the end record (no comment) and hold it all.

    The caller compares ``directory`` of the answer with the bytes; this only has to find the numbers.

    Raises:
        ValueError, struct.error: there is nothing that could be a directory.
    """
    *_, count, size, start, _ = _END.unpack(tail[-_END.size :])
    end = len(tail) - _END.size
    if start == _NONE:
        end -= _LOCATOR.size + _FAR_END.size
        *_, count, size, start = _FAR_END.unpack_from(tail, end) if end >= 0 else _FAR_END.unpack(b"")
    place = end - size
    if place < 0 or count > _MOST_MEMBERS:
        raise ValueError("the directory is not in the last bytes")
    entries = []
    for _ in range(count):
        entry, place = _parse_entry(tail, place)
        entries.append(entry)
    return entries, start


def _parse_entry(tail: bytes, place: int) -> tuple[Entry, int]:
    fields = _CENTRAL.unpack_from(tail, place)
    deflated = fields[4] == 8
    crc, packed, size, name_length, extra_length, offset = *fields[7:12], fields[-1]
    place += _CENTRAL.size
    name = tail[place : place + name_length].decode("ascii").removesuffix(".npy")
    place += name_length + extra_length
    far = list(struct.unpack(f"<{max(0, extra_length - 4) // 8}Q", tail[place - extra_length + 4 : place]))
    if size == _NONE:
        size, packed, *far = far
    if offset == _NONE:
        (offset,) = far
    return Entry(name, crc, packed, size, offset, deflated), place
