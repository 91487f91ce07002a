"""The operations on data sets, and the data set that a job names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.api.backend import Backend
from app.api.uploaded_files import UploadReader, get_uploaded_file
from app.core.errors import ConflictError, NotFoundError
from app.core.uploaded_files import UploadedFile
from cnet.data import DATASETS
from cnet.sandbox import DATASET_FILE


@dataclass(frozen=True)
class DatasetFacts:
    """What is checked of a job's data set: ``input_shape`` is channels, height, width; ``id`` is None if built in."""

    id: str | None
    input_shape: tuple[int, int, int]
    classes: int


def upload_reader(backend: Backend) -> UploadReader:
    """How an uploaded data set is read and stored."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = backend.sandbox.dataset(source, target)
        return target / DATASET_FILE, json.loads(manifest.to_json())

    return UploadReader(backend.datasets, read)


def get(backend: Backend, dataset_id: str, owner: str) -> UploadedFile:
    """An owner's data set. Raises NotFoundError, GoneError."""
    return get_uploaded_file(backend.datasets, "data set", dataset_id, owner)


def delete(backend: Backend, dataset_id: str, owner: str) -> None:
    """Delete a data set. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    stored = get(backend, dataset_id, owner)
    if backend.jobs.uses(dataset_id=stored.id):
        raise ConflictError(
            f"data set {stored.id}: a job that has not ended needs it. Wait for the job or cancel it.", code="in_use"
        )
    backend.datasets.mark_deleted(stored.id)


def resolve(backend: Backend, name: str, owner: str) -> DatasetFacts:
    """The data set that a job names: a built-in one by its name, or an owner's by its id.

    Raises NotFoundError, GoneError.
    """
    if name in DATASETS.names():
        builtin = DATASETS.get(name)
        return DatasetFacts(None, builtin.input_shape, builtin.classes)
    if not name.startswith("ds_"):
        known = ", ".join(DATASETS.names())
        raise NotFoundError(
            f"data set {name[:60]!r}: there is no built-in one of this name. Use an id (ds_...) or one of: {known}."
        )
    stored = get(backend, name, owner)
    channels, height, width = stored.manifest["input_shape"]
    return DatasetFacts(stored.id, (channels, height, width), stored.manifest["classes"])
