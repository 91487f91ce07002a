"""The file that is read, mapped into memory, and the limits on what it may claim."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.files import open_existing


@dataclass(frozen=True)
class Limits:
    """The most that a file may claim to hold. A reader checks them before it allocates anything.

    Attributes:
        elements: elements of all tensors together.
        pickle_bytes: bytes of the pickled part of a torch file (names, shapes and settings, but not the values).
        header_bytes: bytes of a safetensors header; the limit of the format itself.
        free_bytes, expansion: the tensors may take ``free_bytes + expansion * size of the file`` bytes. A file
            that needs more is made to exhaust memory: compressed zeros, or one value repeated by strides of zero.
    """

    elements: int = 2**34
    pickle_bytes: int = 64 * 2**20
    header_bytes: int = 100_000_000
    free_bytes: int = 2**30
    expansion: int = 64

    def decoded_bytes(self, file_size: int) -> int:
        """The most bytes that the tensors of a file of ``file_size`` bytes may take."""
        return self.free_bytes + self.expansion * file_size


@dataclass(frozen=True, eq=False)
class MappedFile:
    """A file, mapped read-only.

    Attributes:
        path: where it is.
        size: its length in bytes, at least 1.
        mapped: its bytes; slices are copies.
    """

    path: Path
    size: int
    mapped: mmap.mmap = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> MappedFile:
        """Map ``path``. Raises CheckpointError (``empty_file``), and OSError where the file cannot be opened."""
        with open_existing(path) as file:
            size = file.seek(0, 2)
            if size == 0:
                raise CheckpointError("the file is empty (0 bytes). Copy or upload it again.", code="empty_file")
            return cls(path, size, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    @property
    def view(self) -> memoryview:
        """All bytes of the file, not copied."""
        return memoryview(self.mapped)

    def head(self, count: int) -> bytes:
        """The first ``count`` bytes, fewer where the file is shorter."""
        return bytes(self.view[:count])

    def array(self, start: int, count: int) -> npt.NDArray[np.uint8]:
        """A view of ``count`` bytes from ``start``, shape (count,). Raises CheckpointError (``truncated``)."""
        if start < 0 or count < 0 or start + count > self.size:
            raise truncated()
        return np.frombuffer(self.view, np.uint8, count, start)


@dataclass(frozen=True, eq=False)
class FilePart(MappedFile):
    """A member of an archive as a file of its own. ``path`` and ``mapped`` are those of the archive.

    Attributes:
        part: the bytes of the member: a part of the archive, or what was inflated from it.
    """

    part: memoryview = field(repr=False, default=memoryview(b""))

    @classmethod
    def of(cls, file: MappedFile, part: memoryview) -> FilePart:
        """The part of a file that has these bytes."""
        return cls(file.path, len(part), file.mapped, part)

    @property
    def view(self) -> memoryview:
        """All bytes of the part, not copied."""
        return self.part


def truncated() -> CheckpointError:
    """The error for a file that ends too early."""
    return CheckpointError(
        "the file ends before its contents do: it was cut off. Copy or upload it again.", code="truncated"
    )
