"""Zip records of a bundle's file, each built from a few numbers (PKWARE APPNOTE 6.3)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from cnet.bundle.container.digests import DIGEST_CHARACTERS
from cnet.bundle.container.members import SEPARATE, STORED

ZIP64_FROM = 2**31
"""Sizes and offsets from here on are written in zip64 fields."""

_IN_ZIP64 = 0xFFFFFFFF  # "the number is in the zip64 field"
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_ZIP64_END = struct.Struct("<4sQ2H2L4Q")
_ZIP64_LOCATOR = struct.Struct("<4sLQL")


@dataclass(frozen=True)
class ZipEntry:
    """One member of the file.

    Attributes:
        name: without ``.npy``.
        crc: CRC-32 of its content.
        packed: bytes in the file.
        size: bytes of its content; equal to ``packed`` where it is stored.
        offset: place of its local header in the file.
    """

    name: str
    crc: int
    packed: int
    size: int
    offset: int

    def local_header(self, zip64_from: int) -> bytes:
        """Its local header; sizes from ``zip64_from`` on are in the zip64 field."""
        wide = self.size >= zip64_from
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.packed) if wide else b""
        sizes = (_IN_ZIP64, _IN_ZIP64) if wide else (self.packed, self.size)
        fields = (45 if wide else 20, 0, self._method, 0, 33, self.crc, *sizes, len(self._file_name), len(extra))
        return struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + self._file_name + extra

    def central_record(self, zip64_from: int) -> bytes:
        """Its record in the directory; sizes and offsets from ``zip64_from`` on are in the zip64 field."""
        sizes, offset = (self.packed, self.size), self.offset
        numbers = []
        if self.size >= zip64_from:
            numbers += [self.size, self.packed]
            sizes = (_IN_ZIP64, _IN_ZIP64)
        if self.offset >= zip64_from:
            numbers.append(self.offset)
            offset = _IN_ZIP64
        extra = struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
        version = 45 if numbers else 20
        lengths = (len(self._file_name), len(extra))
        fields = (version, version, 0, self._method, 0, 33, self.crc, *sizes, *lengths, 0, 0, 0, 0)
        return _CENTRAL.pack(b"PK\1\2", *fields, offset) + self._file_name + extra

    def data_offset(self, zip64_from: int) -> int:
        """Place of its first packed byte in the file."""
        return self.offset + len(self.local_header(zip64_from))

    @property
    def _method(self) -> int:
        """Compression method: 0 stored, 8 deflated."""
        return 0 if self.name in STORED else 8

    @property
    def _file_name(self) -> bytes:
        return f"{self.name}.npy".encode()


def directory(entries: Sequence[ZipEntry], start: int, zip64_from: int) -> bytes:
    """The central directory, which begins at byte ``start`` of the file, and the end record up to its comment."""
    records = b"".join(entry.central_record(zip64_from) for entry in entries)
    count, zip64_end, offset = len(entries), b"", start
    if start >= zip64_from:
        end = _ZIP64_END.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(records), start)
        zip64_end = end + _ZIP64_LOCATOR.pack(b"PK\6\7", 0, start + len(records), 1)
        offset = _IN_ZIP64
    fields = (0, 0, count, count, len(records), offset, DIGEST_CHARACTERS)
    return records + zip64_end + _END.pack(b"PK\5\6", *fields)


def parse_directory(tail: bytes) -> tuple[list[ZipEntry], int]:
    """The entries, and the directory's place in the file.

    This only finds the numbers: the caller builds ``directory`` from them and compares it with the file.

    Args:
        tail: bytes of the file that hold the directory and end with the end record, without its comment.

    Raises:
        ValueError, struct.error: there is no directory.
    """
    *_, count, size, start, _ = _END.unpack(tail[-_END.size :])
    end = len(tail) - _END.size
    if start == _IN_ZIP64:
        end -= _ZIP64_LOCATOR.size + _ZIP64_END.size
        *_, count, size, start = _ZIP64_END.unpack_from(tail, end) if end >= 0 else _ZIP64_END.unpack(b"")
    place = end - size
    if place < 0 or count > len(SEPARATE):
        raise ValueError("the directory does not lie in the last bytes of the file")
    entries = []
    for _ in range(count):
        entry, place = _parse_central_record(tail, place)
        entries.append(entry)
    return entries, start


def _parse_central_record(tail: bytes, place: int) -> tuple[ZipEntry, int]:
    """The entry whose record begins at ``place``, and the place behind it."""
    fields = _CENTRAL.unpack_from(tail, place)
    crc, packed, size, name_length, extra_length, offset = *fields[7:12], fields[-1]
    place += _CENTRAL.size
    name = tail[place : place + name_length].decode("ascii").removesuffix(".npy")
    place += name_length + extra_length
    numbers = list(struct.unpack(f"<{max(0, extra_length - 4) // 8}Q", tail[place - extra_length + 4 : place]))
    if size == _IN_ZIP64:
        size, packed, *numbers = numbers
    if offset == _IN_ZIP64:
        (offset,) = numbers
    return ZipEntry(name, crc, packed, size, offset), place
