"""What all archives of untrusted origin have in common: members by name, and names that are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.parsing.quoting import quoted, quoted_list

MAX_MEMBERS = 2**20
"""The most members of an archive of many files."""

_UNSAFE = re.compile(r"^/|^[A-Za-z]:|\\|(^|/)\.\.(/|$)|[\x00-\x1f\x7f]|^$")


class Archive(Protocol):
    """The regular files of an archive. Nothing is ever written to a path that an archive names."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members, in the order of the archive."""

    def size(self, name: str) -> int:
        """Stated size of a member in bytes, inflated."""

    def head(self, name: str, count: int) -> bytes:
        """The first ``count`` bytes of a member, fewer where it is shorter."""

    def read(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a member, uint8, shape (size,)."""


def check_member_names(names: Iterable[str]) -> None:
    """Refuse names that lead out of the archive: absolute ones, ``..``, drives, backslashes, control characters.

    Raises:
        CheckpointError: ``unsafe_archive``.
    """
    unsafe = [name for name in names if _UNSAFE.search(name)]
    if unsafe:
        raise unsafe_archive(
            f"the archive has names that are no plain relative paths: {quoted_list(unsafe, 3)}. "
            "Pack the folder again, from its parent folder."
        )


def check_member_sizes(archive: Archive, most_bytes: int) -> None:
    """Refuse an archive whose members together claim more than ``most_bytes``, or of which there are too many.

    Raises:
        CheckpointError: ``too_many_elements``.
    """
    count, total = len(archive.names), sum(archive.size(name) for name in archive.names)
    if total > most_bytes or count > MAX_MEMBERS:
        raise CheckpointError(
            f"the archive has {count} files of {total} bytes, and at most {MAX_MEMBERS} files of {most_bytes} bytes "
            "are accepted for its size. Make it smaller.",
            code="too_many_elements",
        )


def refuse_special_member(name: str, kind: str) -> CheckpointError:
    """The error (``unsafe_archive``) for a member that is no regular file."""
    return unsafe_archive(f"archive: {quoted(name)} is {kind}. Pack plain files and folders only.")


def unsafe_archive(detail: str) -> CheckpointError:
    """An error of the code ``unsafe_archive``."""
    return CheckpointError(detail, code="unsafe_archive")
