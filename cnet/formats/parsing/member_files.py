"""Archives of several files, zip or tar: each member is read as a file of its own, without being written anywhere."""

from __future__ import annotations

import posixpath

from cnet.errors import CheckpointError
from cnet.formats.parsing.archive import Archive, check_member_names, check_member_sizes, refuse_special_member
from cnet.formats.parsing.mapped_file import FilePart, Limits, MappedFile
from cnet.formats.parsing.tar_archive import TarArchive, is_tar
from cnet.formats.parsing.zip_archive import ZipArchive, is_zip


def open_archive(file: MappedFile, limits: Limits, most_bytes: int | None = None) -> Archive | None:
    """The archive that a file is, None where it is none. All names are safe, and no member is a link.

    Args:
        file: any file.
        limits: bound the size of each member.
        most_bytes: bytes that all members together may take; None: what ``limits`` allow for the size of the file.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``unsafe_archive``, ``duplicate_name``, ``too_many_elements``.
    """
    if is_tar(file):
        return TarArchive(file)
    if not is_zip(file):
        return None
    archive = ZipArchive(file, limits)
    if archive.special:
        raise refuse_special_member(archive.special[0], "a link or a device")
    check_member_names(archive.names)
    check_member_sizes(archive, limits.decoded_bytes(file.size) if most_bytes is None else most_bytes)
    return archive


def member_names(file: MappedFile) -> tuple[str, ...]:
    """Names of all members of an archive, safe or not; empty for other files and for damaged archives."""
    try:
        if is_tar(file):
            return TarArchive(file).names
        return ZipArchive(file, Limits()).names if is_zip(file) else ()
    except CheckpointError:
        return ()


def find_beside(archive: Archive, member: str, name: str) -> str | None:
    """The member whose path is ``name``, relative to the folder of ``member``; None where there is none."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(member), name))
    return next((one for one in archive.names if posixpath.normpath(one) == path), None)


def open_member(file: MappedFile, archive: Archive, name: str) -> FilePart:
    """A member of the archive that ``file`` is, as a file of its own.

    Raises:
        CheckpointError: ``corrupt``, ``truncated``, ``empty_file``, ``too_many_elements``.
    """
    data = archive.read(name)
    if not len(data):
        raise CheckpointError("a file of the archive is empty. Pack the files again.", code="empty_file")
    return FilePart.of(file, data.data)
