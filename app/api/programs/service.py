"""The operations on programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.api.accepting import UploadReader
from app.api.backend import Backend
from app.api.upload_query import UploadQuery
from app.api.uploaded_files import delete_uploaded_file, get_uploaded_file
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile
from cnet.sandbox import PROGRAM_FILE


def upload_reader(backend: Backend, _: UploadQuery) -> UploadReader:
    """How an uploaded program is read and stored."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = backend.sandbox.program(source, target)
        return target / PROGRAM_FILE, json.loads(manifest.to_json())

    return UploadReader(backend.programs, read)


def get(backend: Backend, program_id: str, owner: OwnerFilter) -> UploadedFile:
    """An owner's program. Raises NotFoundError, GoneError."""
    return get_uploaded_file(backend.programs, "program", program_id, owner)


def delete(backend: Backend, program_id: str, owner: OwnerFilter) -> None:
    """Delete a program. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    delete_uploaded_file(
        backend.programs, "program", program_id, owner, lambda found: backend.jobs.uses(program_id=found)
    )
