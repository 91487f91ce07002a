"""Gzip of untrusted origin: inflated to a temporary file, and no further than a limit."""

from __future__ import annotations

import mmap
import tempfile
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.files import CHUNK_BYTES
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.mapped_file import MappedFile, truncated

_MAGIC = b"\x1f\x8b"


def is_gzip(head: bytes) -> bool:
    """Whether bytes begin as gzip does."""
    return head[:2] == _MAGIC


def inflate_file(file: MappedFile, most_bytes: int) -> MappedFile:
    """The content of a gzip file, in a temporary file that is gone when the result is.

    Args:
        file: the gzip file.
        most_bytes: how many bytes the content may have.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``empty_file``, ``too_many_elements``.
        OSError: the temporary file cannot be written.
    """
    with tempfile.TemporaryFile() as content:
        for chunk in _chunks(memoryview(file.mapped), most_bytes):
            content.write(chunk)
        size = content.tell()
        content.flush()
        if size == 0:
            raise CheckpointError("the gzip file holds an empty file (0 bytes). Pack it again.", code="empty_file")
        return MappedFile(file.path, size, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ))


def inflate(data: npt.NDArray[np.uint8], most_bytes: int) -> npt.NDArray[np.uint8]:
    """The content of gzip data in memory.

    Args:
        data: gzip, uint8, shape (n,).
        most_bytes: how many bytes the content may have.

    Returns:
        uint8, shape (m,).

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``too_many_elements``.
    """
    return np.frombuffer(b"".join(_chunks(data.data, most_bytes)), np.uint8)


def _chunks(data: memoryview, most_bytes: int) -> Iterator[bytes]:
    """Yield the content of all members, one after the other, as the format allows. Zeros may follow them."""
    position, total = 0, 0
    while position < len(data) and (position == 0 or any(data[position : position + 2])):
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not stream.eof:
            given = bytes(data[position : position + CHUNK_BYTES])
            if not given:
                raise truncated()
            try:
                chunk = stream.decompress(given, CHUNK_BYTES)
            except zlib.error as error:
                raise damaged("the gzip data", "they cannot be inflated") from error
            position += len(given) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
            total += len(chunk)
            if total > most_bytes:
                raise CheckpointError(
                    f"the gzip data inflate to more than {most_bytes} bytes, the most that is accepted for their "
                    "size. Make them smaller.",
                    code="too_many_elements",
                )
            yield chunk
