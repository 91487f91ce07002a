"""The operations on checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.api.accepting import UploadReader
from app.api.backend import Backend
from app.api.checkpoints.schemas import CheckpointQuery
from app.api.http.file_response import Download
from app.api.http.filenames import attachment
from app.api.uploaded_files import delete_uploaded_file, get_uploaded_file
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile
from cnet.formats import refuse_lone_shard
from cnet.sandbox import WEIGHTS_FILE


def upload_reader(backend: Backend, query: CheckpointQuery) -> UploadReader:
    """How an uploaded checkpoint is read and stored."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = backend.sandbox.checkpoint(source, target, query.weights_key, strip_prefix=query.strip_prefix)
        rewritten = target / WEIGHTS_FILE
        return rewritten if rewritten.exists() else source, json.loads(manifest.to_json())

    return UploadReader(backend.checkpoints, read, check_name=refuse_lone_shard)


def get(backend: Backend, checkpoint_id: str, owner: OwnerFilter) -> UploadedFile:
    """An owner's checkpoint. Raises NotFoundError, GoneError."""
    return get_uploaded_file(backend.checkpoints, "checkpoint", checkpoint_id, owner)


def delete(backend: Backend, checkpoint_id: str, owner: OwnerFilter) -> None:
    """Delete a checkpoint. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    delete_uploaded_file(
        backend.checkpoints, "checkpoint", checkpoint_id, owner, lambda found: backend.jobs.uses(checkpoint_id=found)
    )


def content(backend: Backend, checkpoint_id: str, owner: OwnerFilter) -> Download:
    """The tensors of a checkpoint as a safetensors file. Raises NotFoundError, GoneError."""
    stored = get(backend, checkpoint_id, owner)
    name = Path(stored.filename or stored.id).stem or stored.id
    headers = {"Content-Disposition": attachment(f"{name}.safetensors")}
    return backend.downloads.of(stored.blob, headers)
