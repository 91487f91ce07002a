"""What may be done with data sets, and what a job's ``dataset`` means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.api.container import Container
from app.api.objects import Intake, find
from app.core.errors import ConflictError, NotFoundError
from app.core.objects import StoredObject
from cnet.data import DATASETS
from cnet.sandbox import DATASET_FILE


@dataclass(frozen=True)
class DatasetFacts:
    """What a job must know of its data set before it runs. ``id`` is None for a built-in one."""

    id: str | None
    input_shape: tuple[int, int, int]
    classes: int


def intake(core: Container) -> Intake:
    """How an uploaded data set is read."""

    def read(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
        manifest = core.box.dataset(source, target)
        return target / DATASET_FILE, json.loads(manifest.to_json())

    return Intake(core.datasets, read)


def get(core: Container, dataset_id: str, owner: str) -> StoredObject:
    """An owner's data set. Raises NotFoundError, GoneError."""
    return find(core.datasets, "data set", dataset_id, owner)


def delete(core: Container, dataset_id: str, owner: str) -> None:
    """Delete it. Raises ConflictError (``in_use``) while a job needs it, NotFoundError, GoneError."""
    stored = get(core, dataset_id, owner)
    if core.jobs.uses(dataset_id=stored.id):
        raise ConflictError(
            f"a job that has not ended needs the data set {stored.id}: wait for it or cancel it", code="in_use"
        )
    core.datasets.mark_deleted(stored.id)


def resolve(core: Container, name: str, owner: str) -> DatasetFacts:
    """A job's ``dataset``: the name of a built-in one, or an owner's id. Raises NotFoundError, GoneError."""
    if name in DATASETS.names():
        builtin = DATASETS.get(name)
        return DatasetFacts(None, builtin.input_shape, builtin.classes)
    if not name.startswith("ds_"):
        known = ", ".join(DATASETS.names())
        raise NotFoundError(f"there is no data set {name[:60]!r}: give an id (ds_...) or a built-in name: {known}")
    stored = get(core, name, owner)
    channels, height, width = stored.manifest["input_shape"]
    return DatasetFacts(stored.id, (channels, height, width), stored.manifest["classes"])
