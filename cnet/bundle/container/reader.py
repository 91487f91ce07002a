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

from cnet.bundle.container.records import APART, JOINED, WIDE, Entry, Form, Packed, directory, parse_directory
from cnet.errors import BundleError
from cnet.files import CHUNK_BYTES, file_sha256

Source = str | os.PathLike[str] | bytes | BinaryIO

_END = 22  # bytes of the end record
_NPY_MAGIC = 10  # bytes of a .npy file before the text of its header
_LARGEST_MANIFEST = 2**26
_LARGEST_DIRECTORY = 1024
_MOST_PER_BYTE = 1032  # what deflate can make of one byte


class Reader:
    """The members of a sealed file.

    Opening checks everything but the data of the members, ``member`` checks the data of one; of files whose form is
    JOINED, ``cnet.bundle.container.Span`` reads the data.

    Raises:
        BundleError: the file is not as ``Writer`` writes it.
        OSError: it cannot be read at all.
    """

    def __init__(self, source: Source, wide: int = WIDE) -> None:
        self.source = source
        self._wide = wide
        with self.opened() as file:
            self.total = file.seek(0, io.SEEK_END)
            tail = read(file, max(0, self.total - _LARGEST_DIRECTORY), min(self.total, _LARGEST_DIRECTORY))
            self.form = _form(tail)
            self.entries: Mapping[str, Entry] = {entry.name: entry for entry in self._directory(tail)}
            self.manifest = self._sealed_manifest(file, tail)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file; closed afterwards where it was opened for this."""
        if isinstance(self.source, bytes | bytearray | memoryview):
            yield io.BytesIO(self.source)
        elif isinstance(self.source, str | os.PathLike):
            with Path(self.source).open("rb") as file:
                yield file
        else:
            yield self.source

    def _directory(self, tail: bytes) -> list[Entry]:
        """The members, from the directory in the last bytes; it must be what ``directory`` makes of them."""
        records = tail[: -self.form.seal]
        try:
            entries, start = parse_directory(records)
        except (ValueError, struct.error) as error:
            raise damaged("its directory") from error
        expected = directory(entries, start, self._wide, self.form.seal)
        names = tuple(entry.name for entry in entries)
        ordered = tuple(name for name in self.form.members if name in names)
        ends = [0, *(entry.data(self._wide) + entry.packed for entry in entries)]
        fits = [entry.offset for entry in entries] + [start] == ends
        fits = fits and all(entry.deflated or entry.packed == entry.size for entry in entries)
        methods = all(entry.deflated != (entry.name in self.form.stored) for entry in entries)
        whole = start + len(expected) + self.form.seal == self.total and records.endswith(expected)
        if names != ordered or names[-1:] != ("manifest",) or not (fits and methods and whole):
            raise damaged("its directory")
        return entries

    def _sealed_manifest(self, file: BinaryIO, tail: bytes) -> bytes:
        entry = self.entries["manifest"]
        if entry.size > _LARGEST_MANIFEST:
            raise BundleError("the bundle's manifest is larger than any that this release writes")
        packed = read(file, entry.data(self._wide), entry.packed)
        skeleton = hashlib.sha256(packed)
        for each in self.entries.values():
            header = each.local(self._wide)
            if read(file, each.offset, len(header)) != header:
                raise damaged(f"the header of {each.name}")
            skeleton.update(header)
        start = entry.data(self._wide) + entry.packed
        skeleton.update(directory(list(self.entries.values()), start, self._wide, self.form.seal))
        if self.form.sealed(skeleton.digest()) != tail[-self.form.seal :]:
            raise damaged("its seal")
        content = bytes(_inflated([packed], entry))
        size = _NPY_MAGIC + int.from_bytes(content[_NPY_MAGIC - 2 : _NPY_MAGIC], "little")
        if content[:size] != self.form.npy_header("|u1", max(0, entry.size - size)):
            raise damaged("the array of manifest")
        return content[size:]

    def sha256(self) -> str:
        """Hex digest of the whole file."""
        with self.opened() as file:
            return file_sha256(file)

    def member(self, name: str, packed: Packed) -> npt.NDArray[np.generic]:
        """The array of one member, shape (length,), writable."""
        entry = self.entries[name]
        if packed.size != entry.size:
            raise damaged(f"the size of {name}")
        digest = hashlib.sha256()
        with self.opened() as file:
            chunks = _chunks(file, entry.data(self._wide), entry.packed)
            content = _inflated(_watched(chunks, digest.update), entry)
        if digest.hexdigest()[:32] != packed.sha256:
            raise damaged(f"the data of {name}")
        header = self.form.npy_header(packed.descr, packed.length)
        if not content.startswith(header):
            raise damaged(f"the array of {name}")
        return np.frombuffer(content, packed.descr, offset=len(header))

    def start(self, name: str) -> int:
        """Where a member's bytes begin in the file."""
        return self.entries[name].data(self._wide)


def _form(tail: bytes) -> Form:
    """The form that the end record's place tells. Raises BundleError where there is none."""
    for form in (APART, JOINED):
        end = len(tail) - form.seal - _END
        if end >= 0 and tail[end : end + 4] == b"PK\5\6":
            return form
    raise BundleError("this is not a bundle, or its end is missing: get the whole file again")


def damaged(what: str) -> BundleError:
    """The error for a file that is not as it was written."""
    return BundleError(f"the bundle is damaged: {what} is not what was written; get the whole file again")


def read(file: BinaryIO, offset: int, size: int) -> bytes:
    """``size`` bytes at ``offset``. Raises BundleError where there are fewer."""
    file.seek(offset)
    content = file.read(size)
    if len(content) != size:
        raise BundleError("the bundle ended while it was read; get the whole file again")
    return content


def _chunks(file: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    for start in range(0, size, CHUNK_BYTES):
        yield read(file, offset + start, min(CHUNK_BYTES, size - start))


def _watched(chunks: Iterable[bytes], watch: Callable[[bytes], object]) -> Iterator[bytes]:
    for chunk in chunks:
        watch(chunk)
        yield chunk


def _inflated(chunks: Iterable[bytes], entry: Entry) -> bytearray:
    """The member's bytes: never more than its size says, which is never more than deflate can make of the data."""
    if entry.size > _MOST_PER_BYTE * entry.packed:
        raise damaged(f"the size of {entry.name}")
    content = bytearray(entry.size)
    place, unpacker = 0, zlib.decompressobj(-15)
    try:
        for chunk in chunks:
            part = unpacker.decompress(chunk, entry.size - place + 1)
            if place + len(part) > entry.size or unpacker.unconsumed_tail or unpacker.unused_data:
                raise damaged(f"the data of {entry.name}")
            content[place : place + len(part)] = part
            place += len(part)
    except zlib.error as error:
        raise damaged(f"the data of {entry.name}") from error
    if not unpacker.eof or place != entry.size or zlib.crc32(content) != entry.crc:
        raise damaged(f"the data of {entry.name}")
    return content
