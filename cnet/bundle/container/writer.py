"""Writing a sealed .npz file."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from cnet.bundle.container.records import APART, WIDE, Entry, Form, Packed, chunk_digest, directory
from cnet.files import CHUNK_BYTES

_TRY_ALL = 2**26  # members up to this size are deflated in each of _STRATEGIES
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE)


class Writer:
    """Writes members one after the other to a seekable file that is empty; ``seal`` ends it."""

    def __init__(self, file: BinaryIO, form: Form = APART, wide: int = WIDE) -> None:
        self._file = file
        self._form = form
        self._wide = wide
        self._entries: list[Entry] = []
        self._skeleton = hashlib.sha256()

    @classmethod
    def resumed(cls, file: BinaryIO, form: Form, entries: Iterable[Entry]) -> Self:
        """A writer of a file that ends with the data of these members."""
        writer = cls(file, form)
        writer._entries += entries
        file.seek(0, os.SEEK_END)
        return writer

    def add(self, name: str, descr: str, arrays: Iterable[npt.NDArray[np.generic]]) -> Packed:
        """One member that holds the bytes of all ``arrays`` as one array of type ``descr``."""
        parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
        length = sum(len(part) for part in parts) // np.dtype(descr).itemsize
        raw = [memoryview(self._form.npy_header(descr, length)), *(part.data for part in parts)]
        entry = Entry(name, _crc(raw), 0, sum(len(part) for part in raw), self._file.tell())
        self._file.write(entry.local(self._wide))
        digest = hashlib.sha256()
        for chunk in _deflated(raw, entry.size):
            digest.update(chunk)
            self._file.write(chunk)
            if name == "manifest":
                self._skeleton.update(chunk)
        packed = self._file.tell() - entry.data(self._wide)
        self._entries.append(Entry(name, entry.crc, packed, entry.size, entry.offset))
        return Packed(descr, length, digest.hexdigest()[:32])

    def add_stored(self, name: str, length: int, chunks: Iterable[bytes]) -> tuple[str, ...]:
        """One member of bytes that are not deflated.

        Args:
            name: the member.
            length: of all chunks together.
            chunks: the bytes, CHUNK at a time; the last may be shorter.

        Returns:
            the digest of each chunk.
        """
        header = self._form.npy_header("|u1", length)
        size = len(header) + length
        entry = Entry(name, 0, size, size, self._file.tell(), deflated=False)
        self._file.write(entry.local(self._wide) + header)
        crc, digests = zlib.crc32(header), []
        for chunk in chunks:
            crc = zlib.crc32(chunk, crc)
            digests.append(chunk_digest(chunk))
            self._file.write(chunk)
        self._entries.append(replace(entry, crc=crc))
        return tuple(digests)

    def seal(self) -> tuple[Entry, ...]:
        """Write local headers, directory and seal; the members as they are in the file."""
        start = self._file.tell()
        end = directory(self._entries, start, self._wide, self._form.seal)
        for entry in self._entries:
            self._file.seek(entry.offset)
            self._file.write(entry.local(self._wide))
            self._skeleton.update(entry.local(self._wide))
        self._file.seek(start)
        self._skeleton.update(end)
        self._file.write(end + self._form.sealed(self._skeleton.digest()))
        return tuple(self._entries)


def _crc(parts: Iterable[memoryview]) -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def _deflated(parts: Sequence[memoryview], size: int) -> Iterator[bytes]:
    """The parts as one deflate stream: the smallest of several, where trying is cheap.

    Labels and masks are little else than noise of low entropy: the matches that zlib's default strategy finds in them
    cost up to a sixth more than plain Huffman codes.
    """
    if size > _TRY_ALL:
        return _stream(parts, zlib.Z_DEFAULT_STRATEGY)
    return iter([min((b"".join(_stream(parts, strategy)) for strategy in _STRATEGIES), key=len)])


def _stream(parts: Sequence[memoryview], strategy: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 8, strategy)
    for part in parts:
        for start in range(0, len(part), CHUNK_BYTES):
            yield packer.compress(part[start : start + CHUNK_BYTES])
    yield packer.flush()
