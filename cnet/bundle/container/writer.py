"""Write a sealed .npz file."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from cnet.arrays import slices
from cnet.bundle.container.digests import digest_of, digest_text
from cnet.bundle.container.members import ArrayMember, npy_header
from cnet.bundle.container.zip_records import ZIP64_FROM, ZipEntry, directory
from cnet.files import CHUNK_BYTES

_TRY_ALL = 2**26  # members up to this size are deflated with each of _STRATEGIES
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE)


class ContainerWriter:
    """Writes members one after the other to an empty file that can seek; ``seal`` completes the file.

    Args:
        file: open for writing in binary mode.
        zip64_from: sizes and offsets from here on are written in zip64 fields.
    """

    def __init__(self, file: BinaryIO, zip64_from: int = ZIP64_FROM) -> None:
        self._file = file
        self._zip64_from = zip64_from
        self._entries: list[ZipEntry] = []
        self._sealed = hashlib.sha256()

    @classmethod
    def resume(cls, file: BinaryIO, entries: Iterable[ZipEntry]) -> Self:
        """A writer that goes on with a file that ends with the content of these members."""
        writer = cls(file)
        writer._entries += entries
        file.seek(0, os.SEEK_END)
        return writer

    def add(self, name: str, descr: str, arrays: Iterable[npt.NDArray[np.generic]]) -> ArrayMember:
        """Write a deflated member that holds ``arrays``, of any shapes, as one array of element type ``descr``."""
        parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
        length = sum(len(part) for part in parts) // np.dtype(descr).itemsize
        content = [memoryview(npy_header(name, descr, length)), *(part.data for part in parts)]
        entry = ZipEntry(name, _crc(content), 0, sum(len(part) for part in content), self._file.tell())
        self._file.write(entry.local_header(self._zip64_from))
        sha256 = hashlib.sha256()
        for chunk in _deflated(content, entry.size):
            sha256.update(chunk)
            self._file.write(chunk)
            if name == "manifest":
                self._sealed.update(chunk)
        packed = self._file.tell() - entry.data_offset(self._zip64_from)
        self._entries.append(replace(entry, packed=packed))
        return ArrayMember(descr, length, digest_text(sha256.digest()))

    def add_stored(self, name: str, length: int, chunks: Iterable[bytes]) -> tuple[str, ...]:
        """Write a member of bytes that are not deflated.

        Args:
            name: one of ``members.STORED``.
            length: bytes of all chunks together.
            chunks: the bytes, ``digests.DIGEST_CHUNK`` at a time; the last chunk may be shorter.

        Returns:
            the digest of each chunk.
        """
        header = npy_header(name, "|u1", length)
        size = len(header) + length
        entry = ZipEntry(name, 0, size, size, self._file.tell())
        self._file.write(entry.local_header(self._zip64_from) + header)
        crc, digests = zlib.crc32(header), []
        for chunk in chunks:
            crc = zlib.crc32(chunk, crc)
            digests.append(digest_of(chunk))
            self._file.write(chunk)
        self._entries.append(replace(entry, crc=crc))
        return tuple(digests)

    def seal(self) -> tuple[ZipEntry, ...]:
        """Write local headers, directory and seal; returns the members as they are in the file."""
        start = self._file.tell()
        end = directory(self._entries, start, self._zip64_from)
        for entry in self._entries:
            header = entry.local_header(self._zip64_from)
            self._file.seek(entry.offset)
            self._file.write(header)
            self._sealed.update(header)
        self._file.seek(start)
        self._sealed.update(end)
        self._file.write(end + digest_text(self._sealed.digest()).encode())
        return tuple(self._entries)


def _crc(parts: Iterable[memoryview]) -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def _deflated(parts: Sequence[memoryview], size: int) -> Iterator[bytes]:
    """The parts as one deflate stream: the smallest of several, unless ``size`` makes trying expensive.

    Labels and masks are close to random symbols of low entropy: the matches that zlib's default strategy finds in
    them cost up to a sixth more than Huffman codes alone.
    """
    if size > _TRY_ALL:
        return _deflate(parts, zlib.Z_DEFAULT_STRATEGY)
    return iter([min((b"".join(_deflate(parts, strategy)) for strategy in _STRATEGIES), key=len)])


def _deflate(parts: Sequence[memoryview], strategy: int) -> Iterator[bytes]:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15, 8, strategy)
    for part in parts:
        for chunk in slices(len(part), CHUNK_BYTES):
            yield deflater.compress(part[chunk])
    yield deflater.flush()
