"""Read a sealed .npz file, and refuse every other file."""

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

from cnet.arrays import slices
from cnet.bundle.container.digests import DIGEST_CHARACTERS, digest_text
from cnet.bundle.container.errors import damaged
from cnet.bundle.container.members import JOINED, SEPARATE, STORED, ArrayMember, npy_bytes, npy_header
from cnet.bundle.container.zip_records import ZIP64_FROM, ZipEntry, directory, parse_directory
from cnet.errors import BundleError
from cnet.files import CHUNK_BYTES, file_sha256, open_existing

Source = str | os.PathLike[str] | bytes | BinaryIO

_END_BYTES = 22  # of the end record
_NPY_MAGIC_BYTES = 10  # of a .npy file before the text of its header
_LARGEST_MANIFEST = 2**26
_LARGEST_DIRECTORY = 1024
_MOST_PER_BYTE = 1032  # bytes that deflate can make of one byte


class ContainerReader:
    """The members of a sealed file.

    Opening checks everything but the content of the members; ``member`` checks that of a deflated one,
    ``cnet.bundle.container.StoredMember`` that of a stored one.

    Args:
        source: a path, the file's bytes, or a binary file that can seek.
        zip64_from: sizes and offsets from here on are in zip64 fields.

    Attributes:
        total: size of the file in bytes.
        entries: the members by name, in the order of the file.
        manifest: content of the array ``manifest``: UTF-8 JSON.

    Raises:
        BundleError: the file is not as ``ContainerWriter`` writes it.
        OSError: the file cannot be read.
    """

    def __init__(self, source: Source, zip64_from: int = ZIP64_FROM) -> None:
        self.source = source
        self._zip64_from = zip64_from
        with self.opened() as file:
            self.total = file.seek(0, io.SEEK_END)
            tail = read_exactly(file, max(0, self.total - _LARGEST_DIRECTORY), min(self.total, _LARGEST_DIRECTORY))
            self.entries: Mapping[str, ZipEntry] = {entry.name: entry for entry in self._checked_directory(tail)}
            self.manifest = self._checked_manifest(file, tail)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file to read; closed afterwards where it was opened for this."""
        if isinstance(self.source, bytes | bytearray | memoryview):
            yield io.BytesIO(self.source)
        elif isinstance(self.source, str | os.PathLike):
            with open_existing(Path(self.source)) as file:
                yield file
        else:
            yield self.source

    def sha256(self) -> str:
        """SHA-256 of the whole file, hex."""
        with self.opened() as file:
            return file_sha256(file)

    def member(self, name: str, array: ArrayMember) -> npt.NDArray[np.generic]:
        """The array of one deflated member: shape (length,), writable. Raises BundleError where it is damaged."""
        entry = self.entries[name]
        if npy_bytes(name, array.descr, array.length) != entry.size:
            raise damaged(f"the size of {name}")
        sha256 = hashlib.sha256()
        with self.opened() as file:
            chunks = _chunks(file, entry.data_offset(self._zip64_from), entry.packed)
            content = _inflated(_passed_to(sha256.update, chunks), entry)
        if digest_text(sha256.digest()) != array.digest:
            raise damaged(f"the data of {name}")
        header = npy_header(name, array.descr, array.length)
        if not content.startswith(header):
            raise damaged(f"the array of {name}")
        return np.frombuffer(content, array.descr, offset=len(header))

    def data_offset(self, name: str) -> int:
        """Place of a member's first packed byte in the file."""
        return self.entries[name].data_offset(self._zip64_from)

    def _checked_directory(self, tail: bytes) -> list[ZipEntry]:
        """The members, from the last bytes of the file; the directory must be what ``directory`` makes of them."""
        end = len(tail) - DIGEST_CHARACTERS - _END_BYTES
        if end < 0 or tail[end : end + 4] != b"PK\5\6":
            raise BundleError(
                "bundle: this file is not a bundle of cnet, or its end is missing. Copy or download it again."
            )
        records = tail[:-DIGEST_CHARACTERS]
        try:
            entries, start = parse_directory(records)
        except (ValueError, struct.error) as error:
            raise damaged("its directory") from error
        expected = directory(entries, start, self._zip64_from)
        names = tuple(entry.name for entry in entries)
        known = any(names == tuple(name for name in order if name in names) for order in (SEPARATE, JOINED))
        ends = [0, *(entry.data_offset(self._zip64_from) + entry.packed for entry in entries)]
        without_gaps = [entry.offset for entry in entries] + [start] == ends
        sizes = all(entry.name not in STORED or entry.packed == entry.size for entry in entries)
        complete = start + len(expected) + DIGEST_CHARACTERS == self.total and records.endswith(expected)
        if not (known and names[-1:] == ("manifest",) and without_gaps and sizes and complete):
            raise damaged("its directory")
        return entries

    def _checked_manifest(self, file: BinaryIO, tail: bytes) -> bytes:
        """The manifest's JSON; all headers and the seal must be what the writer makes of the members."""
        entry = self.entries["manifest"]
        if entry.size > _LARGEST_MANIFEST:
            raise BundleError(
                f"bundle: its manifest has {entry.size} bytes, more than {_LARGEST_MANIFEST}. "
                "Ask whoever made the file for another one."
            )
        packed = read_exactly(file, entry.data_offset(self._zip64_from), entry.packed)
        sealed = hashlib.sha256(packed)
        for each in self.entries.values():
            header = each.local_header(self._zip64_from)
            if read_exactly(file, each.offset, len(header)) != header:
                raise damaged(f"the header of {each.name}")
            sealed.update(header)
        start = entry.data_offset(self._zip64_from) + entry.packed
        sealed.update(directory(list(self.entries.values()), start, self._zip64_from))
        if digest_text(sealed.digest()).encode() != tail[-DIGEST_CHARACTERS:]:
            raise damaged("its structure or manifest")
        content = bytes(_inflated([packed], entry))
        size = _NPY_MAGIC_BYTES + int.from_bytes(content[_NPY_MAGIC_BYTES - 2 : _NPY_MAGIC_BYTES], "little")
        if content[:size] != npy_header("manifest", "|u1", max(0, entry.size - size)):
            raise damaged("the array of manifest")
        return content[size:]


def read_exactly(file: BinaryIO, offset: int, size: int) -> bytes:
    """``size`` bytes at ``offset``. Raises BundleError where there are fewer."""
    file.seek(offset)
    content = file.read(size)
    if len(content) != size:
        raise BundleError("bundle: the file ended while it was read. Copy or download it again.")
    return content


def _chunks(file: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    for part in slices(size, CHUNK_BYTES, offset):
        yield read_exactly(file, part.start, part.stop - part.start)


def _passed_to(use: Callable[[bytes], object], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks, each passed to ``use`` on the way."""
    for chunk in chunks:
        use(chunk)
        yield chunk


def _inflated(chunks: Iterable[bytes], entry: ZipEntry) -> bytearray:
    """Content of a deflated member. Never longer than its entry says, nor than deflate can make of its bytes."""
    if entry.size > _MOST_PER_BYTE * entry.packed:
        raise damaged(f"the size of {entry.name}")
    content = bytearray(entry.size)
    place, inflater = 0, zlib.decompressobj(-15)
    try:
        for chunk in chunks:
            part = inflater.decompress(chunk, entry.size - place + 1)
            if place + len(part) > entry.size or inflater.unconsumed_tail or inflater.unused_data:
                raise damaged(f"the data of {entry.name}")
            content[place : place + len(part)] = part
            place += len(part)
    except zlib.error as error:
        raise damaged(f"the data of {entry.name}") from error
    if not inflater.eof or place != entry.size or zlib.crc32(content) != entry.crc:
        raise damaged(f"the data of {entry.name}")
    return content
