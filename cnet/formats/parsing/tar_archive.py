"""Reader of tar archives of untrusted origin: POSIX ustar and pax, GNU and version 7.

``tarfile`` of the standard library ends at a damaged header as if the archive ended there, and makes links and devices
available; this reader refuses both. Source: POSIX.1-2017, utility ``pax``; GNU tar manual, "Basic Tar Format".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.parsing.archive import MAX_MEMBERS, check_member_names, refuse_special_member, unsafe_archive
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.mapped_file import MappedFile
from cnet.formats.parsing.quoting import quoted

_BLOCK = 512
_LONGEST_EXTENSION = 2**16  # bytes of the header that states a long name
_NAME, _SIZE, _CHECKSUM, _TYPE, _MAGIC, _PREFIX = (
    *(slice(0, 100), slice(124, 136), slice(148, 156), slice(156, 157)),
    *(slice(257, 262), slice(345, 500)),
)
_REGULAR = (b"0", b"\0", b"7")
_FOLDER, _LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"5", b"L", b"K", b"x", b"g"
_EXTENSIONS = (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL)
_KINDS = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a named pipe"}


@dataclass(frozen=True)
class _Header:
    """One header block: what follows it is ``size`` bytes, filled up to a whole block."""

    name: str
    size: int
    kind: bytes


class TarArchive:
    """The regular files of a tar archive, read in place.

    Args:
        file: the archive, not compressed.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``; ``unsafe_archive`` for links, devices, sparse files and names that
            lead out of the archive; ``duplicate_name``; ``too_many_elements`` for more than 2^20 members.
    """

    def __init__(self, file: MappedFile) -> None:
        self._file = file
        self._members: dict[str, tuple[int, int]] = {}  # start and size
        self._read_members()
        check_member_names(self._members)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all files, in the order of the archive."""
        return tuple(self._members)

    def size(self, name: str) -> int:
        """Size of a file in bytes."""
        return self._members[name][1]

    def head(self, name: str, count: int) -> bytes:
        """The first ``count`` bytes of a file, fewer where it is shorter."""
        start, size = self._members[name]
        return self._file.array(start, min(size, count)).tobytes()

    def read(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a file, uint8, shape (size,): a view."""
        return self._file.array(*self._members[name])

    def _read_members(self) -> None:
        position, override = 0, dict[str, str]()
        while any(block := self._file.array(position, _BLOCK).tobytes()):
            header = _header(block)
            start = position + _BLOCK
            position = start + -(-header.size // _BLOCK) * _BLOCK
            if header.kind in _EXTENSIONS:
                override |= self._extension(header, start)
                continue
            size = _octal(override.get("size", "").encode()) if "size" in override else header.size
            position = start + -(-size // _BLOCK) * _BLOCK
            self._add(override.get("path", header.name), header.kind, start, size)
            override = {}
        if override or self._file.array(position, self._file.size - position).any():
            raise damaged("the archive", "something follows its end")

    def _add(self, path: str, kind: bytes, start: int, size: int) -> None:
        name = path
        while name.startswith("./"):
            name = name[2:].lstrip("/")
        if kind == _FOLDER or (kind in _REGULAR and path.endswith("/")):
            check_member_names([name or "."])
            return
        if kind not in _REGULAR:
            raise refuse_special_member(
                name, _KINDS.get(kind, f"an entry of the unknown type {quoted(kind.decode('latin-1'))}")
            )
        if name in self._members:
            raise CheckpointError(
                f"the archive has two files of the same name: {quoted(name)}. Pack each file once.",
                code="duplicate_name",
            )
        if len(self._members) >= MAX_MEMBERS:
            raise CheckpointError(
                f"the archive has more than {MAX_MEMBERS} files. Pack fewer files.", code="too_many_elements"
            )
        self._file.array(start, size)  # raises where the file was cut off
        self._members[name] = (start, size)

    def _extension(self, header: _Header, start: int) -> dict[str, str]:
        """What a header before another header says of it: ``path`` and ``size``."""
        if header.size > _LONGEST_EXTENSION:
            raise unsafe_archive(
                f"archive: a header states a name of {header.size} bytes, and at most {_LONGEST_EXTENSION} are "
                "accepted. Pack the files again."
            )
        content = self._file.array(start, header.size).tobytes()
        if header.kind == _LONG_NAME:
            return {"path": _text(content)}
        if header.kind == _LONG_LINK:
            return {}  # the link that it belongs to is refused
        records = _pax_records(content)
        if any(key.startswith("GNU.sparse.") for key in records):
            raise refuse_special_member(records.get("GNU.sparse.name", "a file"), "a sparse file")
        found = {key: value for key, value in records.items() if key in ("path", "size")}
        if found and header.kind == _PAX_GLOBAL:
            raise damaged("the archive", "a global header states the name or the size of a file")
        if "size" in found:
            found["size"] = f"{_decimal(found['size']):o}"
        return found


def is_tar(file: MappedFile) -> bool:
    """Whether a file begins with a header of the tar format, whose checksum is right."""
    head = file.head(_BLOCK)
    return len(head) == _BLOCK and _has_checksum(head)


def _header(block: bytes) -> _Header:
    if not _has_checksum(block):
        raise damaged("the archive", "the checksum of a header is wrong")
    name = _text(block[_NAME])
    prefix = _text(block[_PREFIX]) if block[_MAGIC] == b"ustar" and block[262:263] == b"\0" else ""
    return _Header(f"{prefix}/{name}" if prefix else name, _octal(block[_SIZE]), block[_TYPE])


def _has_checksum(block: bytes) -> bool:
    """Whether the checksum is the sum of all bytes, itself taken as spaces. Old programs added them as signed."""
    try:
        stated = _octal(block[_CHECKSUM])
    except CheckpointError:
        return False
    values = np.frombuffer(block[:148] + b" " * 8 + block[156:], np.uint8)
    return bool(block[_CHECKSUM].strip(b" \0")) and stated in (int(values.sum()), int(values.view(np.int8).sum()))


def _octal(field: bytes) -> int:
    """A number of a header: octal digits, or, where the first bit is set, an unsigned number of base 256."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not all(digit in b"01234567" for digit in digits):
        raise damaged("the archive", "a number in a header cannot be read")
    return int(digits or b"0", 8)


def _decimal(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise damaged("the archive", "a size in a header cannot be read")
    return int(text)


def _pax_records(content: bytes) -> dict[str, str]:
    """The records of a pax header, each ``length key=value`` and a line feed; the length counts all of it."""
    records, position = {}, 0
    while position < len(content):
        digits, space, _ = content[position : position + 20].partition(b" ")
        length = _decimal(digits.decode("ascii", "replace"))
        record = content[position : position + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not space or not equals or length != len(record) or record[-1:] != b"\n":
            raise damaged("the archive", "a pax header cannot be read")
        records[_text(key)] = _text(value)
        position += length
    return records


def _text(field: bytes) -> str:
    """The text up to the first zero byte."""
    return field.partition(b"\0")[0].decode("utf-8", "replace")
