"""Reader of zip archives of untrusted origin: each member is checked before it is used."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections import Counter

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.quoting import quoted, quoted_list

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, ..., length of name, length of extra field
_ENCRYPTED = 0x1
_END_RECORD = b"PK\x05\x06"
_LONGEST_END_RECORD = 22 + 0xFFFF  # bytes, with the longest comment
DIRECTORY_ERRORS = (
    zipfile.BadZipFile,
    struct.error,
    ValueError,
    KeyError,
    IndexError,
    NotImplementedError,  # raised by zipfile for a compression or a version that it does not know
    OverflowError,
    OSError,
    EOFError,
)
"""What ``zipfile`` raises for a damaged or unknown directory."""


class ZipArchive:
    """The members of a zip file.

    ``zipfile`` reads the directory. The bytes of the members come from the mapped file: a stored member is never
    copied, and a deflated one is inflated to its stated size and no further.

    Args:
        file: the archive.
        limits: bound the size of each member.

    Raises:
        CheckpointError: ``truncated`` where the directory at the end is missing, ``corrupt`` where it is damaged,
            ``duplicate_name`` for two members of one name.
    """

    def __init__(self, file: MappedFile, limits: Limits) -> None:
        self.file = file
        self._largest = limits.decoded_bytes(file.size)
        self._members = {member.filename: member for member in _directory(file)}
        self._checked: set[str] = set()
        self._last: tuple[str, npt.NDArray[np.uint8]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members, in the order of the directory."""
        return tuple(self._members)

    @property
    def begins_the_file(self) -> bool:
        """Whether the first member is at the very start of the file: nothing was cut off or put before it."""
        return not self._members or min(member.header_offset for member in self._members.values()) == 0

    @property
    def compressed(self) -> tuple[str, ...]:
        """Names of the members that are not stored as they are."""
        return tuple(name for name, one in self._members.items() if one.compress_type != zipfile.ZIP_STORED)

    @property
    def special(self) -> tuple[str, ...]:
        """Names of the members that are marked as links, devices or anything else than regular files."""
        modes = ((name, stat.S_IFMT(one.external_attr >> 16)) for name, one in self._members.items())
        return tuple(name for name, mode in modes if mode not in (0, stat.S_IFREG))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def size(self, name: str) -> int:
        """Stated size of a member in bytes, inflated. Raises CheckpointError (``corrupt``) where it does not exist."""
        return self._member(name).file_size

    def head(self, name: str, count: int) -> bytes:
        """The first ``count`` bytes of a member, fewer where it is shorter. Its checksum is not checked."""
        member = self._member(name)
        stored = self._stored_bytes(member)
        if member.compress_type == zipfile.ZIP_STORED:
            return bytes(stored[:count])
        return bytes(_inflate(stored, member, count))

    def read(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a member, uint8, shape (size,): a view of the file where it is stored, otherwise inflated.

        Raises:
            CheckpointError: ``truncated``, ``corrupt``, or ``too_many_elements`` where the limits are exceeded.
        """
        if self._last is not None and self._last[0] == name:
            return self._last[1]
        member = self._member(name)
        stored = self._stored_bytes(member)
        if member.compress_type == zipfile.ZIP_STORED:
            data = stored
        else:
            if member.file_size > self._largest:
                raise CheckpointError(
                    f"record {quoted(name)}: it inflates to {member.file_size} bytes, and at most {self._largest} are "
                    "accepted. Save it uncompressed.",
                    code="too_many_elements",
                )
            data = _inflate(stored, member, member.file_size + 1)  # one byte more shows that the stated size is wrong
            self._last = (name, data)
        self._check(member, data)
        return data

    def _member(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._members[name]
        except KeyError:
            raise damaged(f"record {quoted(name)}", "the file refers to it and does not contain it") from None

    def _stored_bytes(self, member: zipfile.ZipInfo) -> npt.NDArray[np.uint8]:
        if member.flag_bits & _ENCRYPTED:
            raise CheckpointError("the archive is encrypted. Save it without a password.", code="corrupt")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CheckpointError(
                "the archive uses a compression other than deflate. Save it uncompressed.", code="corrupt"
            )
        start = member.header_offset
        signature, name, extra = _LOCAL_HEADER.unpack(bytes(self.file.array(start, _LOCAL_HEADER.size)))
        if signature != b"PK\x03\x04":
            raise _damaged_member(member)
        return self.file.array(start + _LOCAL_HEADER.size + name + extra, member.compress_size)

    def _check(self, member: zipfile.ZipInfo, data: npt.NDArray[np.uint8]) -> None:
        """Check length and checksum. A checksum of 0 is accepted: PyTorch can be told to write no others."""
        if member.filename in self._checked:
            return
        if len(data) != member.file_size or (member.CRC and zlib.crc32(data.data) != member.CRC):
            raise _damaged_member(member)
        self._checked.add(member.filename)


def _directory(file: MappedFile) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except DIRECTORY_ERRORS as error:
        if file.mapped.rfind(_END_RECORD, max(0, file.size - _LONGEST_END_RECORD)) < 0:
            raise CheckpointError(
                "the archive has no directory at its end: it was cut off. Copy or upload it again.", code="truncated"
            ) from error
        raise CheckpointError(
            "the directory of the archive is damaged. Copy or upload it again.", code="corrupt"
        ) from error
    counts = Counter(member.filename for member in members)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise CheckpointError(
            f"the archive has two records of the same name: {quoted_list(twice)}. Save each of them once.",
            code="duplicate_name",
        )
    return members


def _inflate(deflated: npt.NDArray[np.uint8], member: zipfile.ZipInfo, most: int) -> npt.NDArray[np.uint8]:
    """Inflate to at most ``most`` bytes."""
    try:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(deflated.data, most)
    except (zlib.error, OverflowError, ValueError) as error:
        raise _damaged_member(member) from error
    return np.frombuffer(data, np.uint8)


def _damaged_member(member: zipfile.ZipInfo) -> CheckpointError:
    return damaged(f"record {quoted(member.filename)}", "its bytes do not match their checksum")


def is_zip(file: MappedFile) -> bool:
    """Whether a file begins as a zip archive does, whole or cut off."""
    return file.head(4) in (b"PK\x03\x04", b"PK\x05\x06")
