"""Any bytes of a member that is not deflated, checked chunk by chunk."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cnet.bundle.container.reader import Reader, damaged, read
from cnet.bundle.container.records import CHUNK, chunk_digest
from cnet.errors import BundleError


@dataclass(eq=False)
class Stored:
    """A stored member of a sealed file, whose manifest holds a digest of each chunk.

    Reading some bytes reads the chunks that they lie in; the last one is kept.

    Raises:
        BundleError: the member is not of the size that its digests say.
    """

    reader: Reader
    name: str
    length: int
    digests: Sequence[str]
    _last: tuple[int, bytes] = field(default=(-1, b""), init=False)

    def __post_init__(self) -> None:
        self._header = self.reader.form.npy_header("|u1", self.length)
        size = len(self._header) + self.length
        if self.reader.entries[self.name].size != size or len(self.digests) != -(-self.length // CHUNK):
            raise damaged(f"the size of {self.name}")

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``. Raises BundleError where they are not what was written."""
        if not 0 <= start <= stop <= self.length:
            raise BundleError("the bundle contradicts itself: a part lies outside its member")
        first, last = start // CHUNK, -(-stop // CHUNK)
        content = b"".join(self._chunk(number) for number in range(first, last))
        return content[start - first * CHUNK : stop - first * CHUNK]

    def verify(self) -> None:
        """Read all of it, and the header and the checksum that only other readers look at. Raises BundleError."""
        with self.reader.opened() as file:
            header = read(file, self.reader.start(self.name), len(self._header))
        if header != self._header:
            raise damaged(f"the array of {self.name}")
        crc = zlib.crc32(header)
        for chunk in self._chunks():
            crc = zlib.crc32(chunk, crc)
        if crc != self.reader.entries[self.name].crc:
            raise damaged(f"the data of {self.name}")

    def _chunks(self) -> Iterator[bytes]:
        return (self._chunk(number) for number in range(len(self.digests)))

    def _chunk(self, number: int) -> bytes:
        known, content = self._last
        if known == number:
            return content
        place = number * CHUNK
        with self.reader.opened() as file:
            offset = self.reader.start(self.name) + len(self._header) + place
            content = read(file, offset, min(CHUNK, self.length - place))
        if chunk_digest(content) != self.digests[number]:
            raise damaged(f"the data of {self.name}")
        self._last = number, content
        return content


@dataclass(frozen=True, eq=False)
class Span:
    """Some bytes of a stored member as if they were alone."""

    stored: Stored
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop`` of the span. Raises BundleError."""
        if not 0 <= start <= stop <= self.length:
            raise BundleError("the bundle contradicts itself: a part lies outside its member")
        return self.stored.read(self.start + start, self.start + stop)
