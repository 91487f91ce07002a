"""What checkpoints, data sets and programs have in common: finding and deleting an uploaded file."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.api.http.pagination import ID_PATTERN
from app.core.clock import utc_now
from app.core.errors import ConflictError, GoneError, NotFoundError
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile, UploadedFiles

_ID = re.compile(ID_PATTERN)


def get_uploaded_file(files: UploadedFiles, kind: str, file_id: str, owner: OwnerFilter) -> UploadedFile:
    """An owner's uploaded file.

    Args:
        files: all files of its kind.
        kind: name of the kind in error messages, such as ``checkpoint``.
        file_id: the id that the request names.
        owner: whose files are looked at.

    Raises:
        NotFoundError: there is none with this id, it was deleted, or it is another owner's.
        GoneError: it has expired.
    """
    stored = files.get(file_id, owner) if _ID.fullmatch(file_id) else None
    if stored is None or stored.deleted_at is not None:
        raise NotFoundError(
            f"{kind} {file_id[:60]!r}: you have no {kind} with this id. List your {kind}s to find the right id."
        )
    if stored.expires_at is not None and stored.expires_at <= utc_now():
        raise GoneError(f"{kind} {file_id}: it has expired and was removed. Upload it again.")
    return stored


def delete_uploaded_file(
    files: UploadedFiles, kind: str, file_id: str, owner: OwnerFilter, is_in_use: Callable[[str], bool]
) -> None:
    """Delete an owner's uploaded file.

    Args:
        files: all files of its kind.
        kind: name of the kind in error messages.
        file_id: the id that the request names.
        owner: whose files are looked at.
        is_in_use: whether a job that has not ended needs the file with this id.

    Raises:
        ConflictError: (``in_use``) a job needs it.
        NotFoundError, GoneError: as ``get_uploaded_file``.
    """
    stored = get_uploaded_file(files, kind, file_id, owner)
    if is_in_use(stored.id):
        raise ConflictError(
            f"{kind} {stored.id}: a job that has not ended needs it. Wait for the job or cancel it.", code="in_use"
        )
    files.mark_deleted(stored.id)
