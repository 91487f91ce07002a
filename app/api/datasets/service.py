"""The operations on data sets, and the data set that a job names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.api.accepting import UploadReader
from app.api.backend import Backend
from app.api.upload_query import UploadQuery
from app.api.uploaded_files import delete_uploaded_file, get_uploaded_file
from app.core.errors import NotFoundError
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile
from cnet.data import DATASETS
from cnet.data.dataset_facts import DatasetFacts
from cnet.sandbox import DATASET_FILE


def upload_reader(backend: Backend, _: UploadQuery) -> UploadReader:
    """How an uploaded data set is read and stored."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = backend.sandbox.dataset(source, target)
        return target / DATASET_FILE, json.loads(manifest.to_json())

    return UploadReader(backend.datasets, read)


def get(backend: Backend, dataset_id: str, owner: OwnerFilter) -> UploadedFile:
    """An owner's data set. Raises NotFoundError, GoneError."""
    return get_uploaded_file(backend.datasets, "data set", dataset_id, owner)


def delete(backend: Backend, dataset_id: str, owner: OwnerFilter) -> None:
    """Delete a data set. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    delete_uploaded_file(
        backend.datasets, "data set", dataset_id, owner, lambda found: backend.jobs.uses(dataset_id=found)
    )


def resolve(backend: Backend, name: str, owner: OwnerFilter, what: str = "data set") -> DatasetFacts:
    """The data set that a job names: a built-in one by its name, or an owner's by its id.

    Args:
        backend: holds the data sets.
        name: built-in name or id.
        owner: whose data sets may be named.
        what: what the data set is for, as a message begins.

    Raises:
        NotFoundError, GoneError: it does not exist.
    """
    if name in DATASETS.names():
        return DatasetFacts.of_builtin(name)
    if not name.startswith("ds_"):
        known = ", ".join(DATASETS.names())
        raise NotFoundError(
            f"{what} {name[:60]!r}: it is neither an id (ds_...) nor a built-in data set ({known}). Use one of "
            "these, or on the command line the path of a file that exists."
        )
    stored = get(backend, name, owner)
    return replace(DatasetFacts.of_manifest(stored.manifest), id=stored.id)
