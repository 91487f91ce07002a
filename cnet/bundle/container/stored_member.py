"""Bytes of a stored member, read on demand and checked chunk by chunk."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from cnet.bundle.container.digests import DIGEST_CHUNK, digest_of
from cnet.bundle.container.errors import damaged, inconsistent
from cnet.bundle.container.members import npy_header
from cnet.bundle.container.reader import ContainerReader, read_exactly


@dataclass(eq=False)
class StoredMember:
    """A stored member of a sealed file.

    Reading some bytes reads the chunks that they lie in; the last chunk stays in memory.

    Args:
        reader: of the file.
        name: of the member.
        length: its bytes, without the .npy header.
        digests: of each chunk of ``DIGEST_CHUNK``, from the manifest.

    Raises:
        BundleError: the member has another size than its digests say.
    """

    reader: ContainerReader
    name: str
    length: int
    digests: Sequence[str]
    _last: tuple[int, bytes] = field(default=(-1, b""), init=False)

    def __post_init__(self) -> None:
        self._header = npy_header(self.name, "|u1", self.length)
        size = len(self._header) + self.length
        if self.reader.entries[self.name].size != size or len(self.digests) != -(-self.length // DIGEST_CHUNK):
            raise damaged(f"the size of {self.name}")

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``. Raises BundleError where they are damaged or not there."""
        _check_range(start, stop, self.length)
        first, last = start // DIGEST_CHUNK, -(-stop // DIGEST_CHUNK)
        content = b"".join(self._chunk(number) for number in range(first, last))
        return content[start - first * DIGEST_CHUNK : stop - first * DIGEST_CHUNK]

    def verify(self) -> None:
        """Read all of it, and what only other programs look at: the .npy header and the CRC. Raises BundleError."""
        with self.reader.opened() as file:
            header = read_exactly(file, self.reader.data_offset(self.name), len(self._header))
        if header != self._header:
            raise damaged(f"the array of {self.name}")
        crc = zlib.crc32(header)
        for number in range(len(self.digests)):
            crc = zlib.crc32(self._chunk(number), crc)
        if crc != self.reader.entries[self.name].crc:
            raise damaged(f"the data of {self.name}")

    def _chunk(self, number: int) -> bytes:
        known, content = self._last
        if known == number:
            return content
        start = number * DIGEST_CHUNK
        with self.reader.opened() as file:
            offset = self.reader.data_offset(self.name) + len(self._header) + start
            content = read_exactly(file, offset, min(DIGEST_CHUNK, self.length - start))
        if digest_of(content) != self.digests[number]:
            raise damaged(f"the data of {self.name}")
        self._last = number, content
        return content


@dataclass(frozen=True, eq=False)
class ByteRange:
    """Some bytes of a stored member, addressed from 0: those from ``start`` to ``start + length``."""

    member: StoredMember
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop`` of the range. Raises BundleError as ``StoredMember.read``."""
        _check_range(start, stop, self.length)
        return self.member.read(self.start + start, self.start + stop)


def _check_range(start: int, stop: int, length: int) -> None:
    if not 0 <= start <= stop <= length:
        raise inconsistent(f"bytes {start} to {stop} lie outside a stream of {length} bytes")
