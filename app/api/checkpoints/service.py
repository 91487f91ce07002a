"""What may be done with checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.api.checkpoints.schemas import CheckpointQuery
from app.api.container import Container
from app.api.http.filenames import attachment
from app.api.http.files import Download, repr_digest
from app.api.objects import Intake, find
from app.core.errors import ConflictError
from app.core.objects import StoredObject
from cnet.formats.shards import refuse_lone_shard
from cnet.sandbox import WEIGHTS_FILE


def intake(core: Container, query: CheckpointQuery) -> Intake:
    """How an uploaded checkpoint is read."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = core.box.checkpoint(source, target, query.weights_key, strip_prefix=query.strip_prefix)
        return target / WEIGHTS_FILE, json.loads(manifest.to_json())

    return Intake(core.checkpoints, read, check_name=refuse_lone_shard)


def get(core: Container, checkpoint_id: str, owner: str) -> StoredObject:
    """An owner's checkpoint. Raises NotFoundError, GoneError."""
    return find(core.checkpoints, "checkpoint", checkpoint_id, owner)


def delete(core: Container, checkpoint_id: str, owner: str) -> None:
    """Delete it. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    stored = get(core, checkpoint_id, owner)
    if core.jobs.uses(checkpoint_id=stored.id):
        raise ConflictError(
            f"a job that has not ended needs the checkpoint {stored.id}: wait for it or cancel it", code="in_use"
        )
    core.checkpoints.mark_deleted(stored.id)


def content(core: Container, checkpoint_id: str, owner: str) -> Download:
    """The canonical safetensors. Raises NotFoundError, GoneError."""
    stored = get(core, checkpoint_id, owner)
    file = core.blobs.path(stored.blob).open("rb")
    name = Path(stored.filename or stored.id).stem or stored.id
    headers = {"Content-Disposition": attachment(f"{name}.safetensors"), "Repr-Digest": repr_digest(stored.blob)}
    return Download(file, core.blobs.size(stored.blob), "application/octet-stream", f'"{stored.blob}"', headers)
