"""Zip archives of untrusted origin: members as bytes of the mapped file, each checked before it is used."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.base import Limits, Source, listed, shown

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, ..., length of name, length of extra field
_ENCRYPTED = 0x1
_END = b"PK\x05\x06"
_LONGEST_END = 22 + 0xFFFF  # end record with the longest comment
_DIRECTORY_ERRORS = (
    zipfile.BadZipFile,
    struct.error,
    ValueError,
    KeyError,
    IndexError,
    NotImplementedError,  # zipfile: a compression or a version that it does not know
    OverflowError,
    OSError,
    EOFError,
)


class ZipArchive:
    """The members of a zip file.

    ``zipfile`` reads the directory. The members' bytes are taken from the mapped file, so that a stored member is
    never copied, and a compressed one is unfolded to its stated size and no further.

    Raises:
        CheckpointError: ``truncated`` where the directory at the end is missing, ``corrupt`` where it is damaged,
            ``duplicate_name`` for two members of one name.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self._most = limits.decoded_bytes(source.size)
        self._members = {member.filename: member for member in _directory(source)}
        self._checked: set[str] = set()
        self._last: tuple[str, npt.NDArray[np.uint8]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members, in the order of the directory."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def size(self, name: str) -> int:
        """Stated size of a member, unpacked. Raises CheckpointError (``corrupt``) where there is none."""
        return self._member(name).file_size

    def head(self, name: str, count: int) -> bytes:
        """The first ``count`` bytes of a member (fewer where it is shorter), before its checksum is looked at."""
        member = self._member(name)
        packed = self._packed(member)
        if member.compress_type == zipfile.ZIP_STORED:
            return bytes(packed[:count])
        return bytes(_inflate(packed, member, count))

    def read(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a member: a view of the file where it is stored, else unpacked.

        Raises:
            CheckpointError: ``truncated``, ``corrupt``, or ``too_many_elements`` for one that unfolds without measure.
        """
        if self._last is not None and self._last[0] == name:
            return self._last[1]
        member = self._member(name)
        packed = self._packed(member)
        if member.compress_type == zipfile.ZIP_STORED:
            data = packed
        else:
            if member.file_size > self._most:
                raise CheckpointError(
                    f"record {shown(name)} unfolds to {member.file_size} bytes; at most {self._most} are taken",
                    code="too_many_elements",
                )
            data = _inflate(packed, member, member.file_size + 1)  # one more shows that the statement is wrong
            self._last = (name, data)
        self._check(member, data)
        return data

    def _member(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._members[name]
        except KeyError:
            raise CheckpointError(
                f"the file has no record {shown(name)} although it names it: it is damaged", code="corrupt"
            ) from None

    def _packed(self, member: zipfile.ZipInfo) -> npt.NDArray[np.uint8]:
        if member.flag_bits & _ENCRYPTED:
            raise CheckpointError("the archive is encrypted: save it without a password", code="corrupt")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CheckpointError(
                "the archive uses a compression other than deflate: save it uncompressed", code="corrupt"
            )
        start = member.header_offset
        signature, name, extra = _LOCAL_HEADER.unpack(bytes(self.source.array(start, _LOCAL_HEADER.size)))
        if signature != b"PK\x03\x04":
            raise _damaged(member)
        return self.source.array(start + _LOCAL_HEADER.size + name + extra, member.compress_size)

    def _check(self, member: zipfile.ZipInfo, data: npt.NDArray[np.uint8]) -> None:
        """Length and checksum. PyTorch can be told to save no checksums and then writes zeros: those pass."""
        if member.filename in self._checked:
            return
        if len(data) != member.file_size or (member.CRC and zlib.crc32(data.data) != member.CRC):
            raise _damaged(member)
        self._checked.add(member.filename)


def _directory(source: Source) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except _DIRECTORY_ERRORS as error:
        if source.mapped.rfind(_END, max(0, source.size - _LONGEST_END)) < 0:
            raise CheckpointError(
                "the file has a beginning but no end: it was cut off; upload it again", code="truncated"
            ) from error
        raise CheckpointError("the archive's directory is damaged; upload it again", code="corrupt") from error
    counts = Counter(member.filename for member in members)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise CheckpointError(f"the archive holds two members named {listed(twice)}", code="duplicate_name")
    return members


def _inflate(packed: npt.NDArray[np.uint8], member: zipfile.ZipInfo, most: int) -> npt.NDArray[np.uint8]:
    """Unfold to at most ``most`` bytes."""
    try:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed.data, most)
    except (zlib.error, OverflowError, ValueError) as error:
        raise _damaged(member) from error
    return np.frombuffer(data, np.uint8)


def _damaged(member: zipfile.ZipInfo) -> CheckpointError:
    return CheckpointError(
        f"record {shown(member.filename)} is damaged: its bytes are not those that were written; upload it again",
        code="corrupt",
    )
