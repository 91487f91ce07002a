"""Reading a sealed .npz file, and refusing every other."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cnet.errors import BundleError
from cnet.sealed_npz.records import MEMBERS, SEAL, WIDE, Entry, Packed, directory, npy_header, parse_directory

Source = str | os.PathLike[str] | bytes | BinaryIO

_END = 22  # bytes of the end record
_NPY_HEADER = 128  # bytes that npy_header has for bytes of any length
_LARGEST_MANIFEST = 2**26
_LARGEST_DIRECTORY = 1024
_CHUNK = 2**20
_MOST_PER_BYTE = 1032  # what deflate can make of one byte


class Reader:
    """The members of a sealed file.

    Opening checks everything but the data of the members, ``member`` checks the data of one.

    Raises:
        BundleError: the file is not as ``Writer`` writes it.
        OSError: it cannot be read at all.
    """

    def __init__(self, source: Source, wide: int = WIDE) -> None:
        self.source = source
        self._wide = wide
        with self._opened() as file:
            self.total = file.seek(0, io.SEEK_END)
            tail = _read(file, max(0, self.total - _LARGEST_DIRECTORY), min(self.total, _LARGEST_DIRECTORY))
            self.entries: Mapping[str, Entry] = {entry.name: entry for entry in self._directory(tail)}
            self.manifest = self._sealed_manifest(file, tail)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if isinstance(self.source, bytes | bytearray | memoryview):
            yield io.BytesIO(self.source)
        elif isinstance(self.source, str | os.PathLike):
            with Path(self.source).open("rb") as file:
                yield file
        else:
            yield self.source

    def _directory(self, tail: bytes) -> list[Entry]:
        """The members, from the directory in the last bytes; it must be what ``directory`` makes of them."""
        end = len(tail) - SEAL - _END
        if end < 0 or tail[end : end + 4] != b"PK\5\6":
            raise BundleError("this is not a bundle, or its end is missing: get the whole file again")
        try:
            entries, start = parse_directory(tail[:-SEAL])
        except (ValueError, struct.error) as error:
            raise _damaged("its directory") from error
        expected = directory(entries, start, self._wide)
        names = tuple(entry.name for entry in entries)
        ordered = tuple(name for name in MEMBERS if name in names)
        ends = [0, *(entry.data(self._wide) + entry.packed for entry in entries)]
        fits = [entry.offset for entry in entries] + [start] == ends
        whole = start + len(expected) + SEAL == self.total and tail[:-SEAL].endswith(expected)
        if names != ordered or names[-1:] != ("manifest",) or not fits or not whole:
            raise _damaged("its directory")
        return entries

    def _sealed_manifest(self, file: BinaryIO, tail: bytes) -> bytes:
        entry = self.entries["manifest"]
        if entry.size > _LARGEST_MANIFEST:
            raise BundleError("the bundle's manifest is larger than any that this release writes")
        packed = _read(file, entry.data(self._wide), entry.packed)
        skeleton = hashlib.sha256(packed)
        for each in self.entries.values():
            header = each.local(self._wide)
            if _read(file, each.offset, len(header)) != header:
                raise _damaged(f"the header of {each.name}")
            skeleton.update(header)
        start = entry.data(self._wide) + entry.packed
        skeleton.update(directory(list(self.entries.values()), start, self._wide))
        if skeleton.hexdigest().encode() != tail[-SEAL:]:
            raise _damaged("its seal")
        content = bytes(_inflated([packed], entry))
        header = npy_header("|u1", max(0, entry.size - _NPY_HEADER))
        if not content.startswith(header):
            raise _damaged("the array of manifest")
        return content[len(header) :]

    def sha256(self) -> str:
        """Hex digest of the whole file."""
        with self._opened() as file:
            return file_sha256(file)

    def member(self, name: str, packed: Packed) -> npt.NDArray[np.generic]:
        """The array of one member, shape (length,), writable."""
        entry = self.entries[name]
        if packed.size != entry.size:
            raise _damaged(f"the size of {name}")
        digest = hashlib.sha256()
        with self._opened() as file:
            content = _inflated(_watched(_chunks(file, entry, self._wide), digest.update), entry)
        if digest.hexdigest()[:32] != packed.sha256:
            raise _damaged(f"the data of {name}")
        header = npy_header(packed.descr, packed.length)
        if not content.startswith(header):
            raise _damaged(f"the array of {name}")
        return np.frombuffer(content, packed.descr, offset=len(header))


def file_sha256(file: BinaryIO) -> str:
    """Hex digest of a whole file that can seek."""
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _damaged(what: str) -> BundleError:
    return BundleError(f"the bundle is damaged: {what} is not what was written; get the whole file again")


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    content = file.read(size)
    if len(content) != size:
        raise BundleError("the bundle ended while it was read; get the whole file again")
    return content


def _chunks(file: BinaryIO, entry: Entry, wide: int) -> Iterator[bytes]:
    offset = entry.data(wide)
    for start in range(0, entry.packed, _CHUNK):
        yield _read(file, offset + start, min(_CHUNK, entry.packed - start))


def _watched(chunks: Iterable[bytes], watch: Callable[[bytes], object]) -> Iterator[bytes]:
    for chunk in chunks:
        watch(chunk)
        yield chunk


def _inflated(chunks: Iterable[bytes], entry: Entry) -> bytearray:
    """The member's bytes: never more than its size says, which is never more than deflate can make of the data."""
    if entry.size > _MOST_PER_BYTE * entry.packed:
        raise _damaged(f"the size of {entry.name}")
    content = bytearray(entry.size)
    place, unpacker = 0, zlib.decompressobj(-15)
    try:
        for chunk in chunks:
            part = unpacker.decompress(chunk, entry.size - place + 1)
            if place + len(part) > entry.size or unpacker.unconsumed_tail or unpacker.unused_data:
                raise _damaged(f"the data of {entry.name}")
            content[place : place + len(part)] = part
            place += len(part)
    except zlib.error as error:
        raise _damaged(f"the data of {entry.name}") from error
    if not unpacker.eof or place != entry.size or zlib.crc32(content) != entry.crc:
        raise _damaged(f"the data of {entry.name}")
    return content
