"""The operations on data sets, and the data set that a job names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from cnet.data.dataset import DEFAULT_INPUT
from cnet.errors import DatasetError
from cnet.sandbox import DATASET_FILE


@dataclass(frozen=True)
class DatasetFacts:
    """What is checked of a job's data set; ``id`` is None if it is built in.

    Attributes:
        id: of the stored data set.
        inputs: shape of one sample and element type of each input, by name.
        classes: number of classes; None where the targets are no labels.
        targets: shape of one sample's target and element type; None where there are none.
        samples: number of samples of each split; empty where it is not known.
    """

    id: str | None
    inputs: dict[str, tuple[tuple[int, ...], str]]
    classes: int | None
    targets: tuple[tuple[int, ...], str] | None = ((), "int64")
    samples: Mapping[str, int] = field(default_factory=dict)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape of an image. Raises DatasetError where the data set has no images that an architecture takes."""
        shapes = [shape for shape, _ in self.inputs.values()]
        dtypes = [dtype for _, dtype in self.inputs.values()]
        if len(shapes) != 1 or len(shapes[0]) != 3 or dtypes[0] not in ("uint8", "float32"):
            raise DatasetError(
                f"data set: its inputs are {', '.join(dtypes)} of the shapes {shapes}, and a built-in architecture "
                "takes one input of (channels, height, width), uint8 or float32. Use a data set of images.",
                code="wrong_input_shape",
            )
        channels, height, width = shapes[0]
        return channels, height, width

    @property
    def images(self) -> tuple[tuple[int, int, int], int]:
        """Shape of an image and number of classes. Raises DatasetError where the data set is not labelled images."""
        shape = self.image_shape
        if self.classes is None or self.targets is None or self.targets[0]:
            raise DatasetError(
                "data set: it has not one label for each sample, which a built-in architecture learns. "
                "Give integer labels from 0.",
                code="bad_labels",
            )
        return shape, self.classes


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


def resolve(backend: Backend, name: str, owner: OwnerFilter) -> DatasetFacts:
    """The data set that a job names: a built-in one by its name, or an owner's by its id.

    Raises NotFoundError, GoneError.
    """
    if name in DATASETS.names():
        builtin = DATASETS.get(name)
        return DatasetFacts(
            None, {DEFAULT_INPUT: (builtin.input_shape, "uint8")}, builtin.classes, samples=builtin.samples
        )
    if not name.startswith("ds_"):
        known = ", ".join(DATASETS.names())
        raise NotFoundError(
            f"data set {name[:60]!r}: there is no built-in one of this name. Use an id (ds_...) or one of: {known}."
        )
    stored = get(backend, name, owner)
    inputs = {row["name"]: (tuple(row["shape"]), row["dtype"]) for row in stored.manifest["inputs"]}
    targets = stored.manifest["targets"]
    facts = None if targets is None else (tuple(targets["shape"]), targets["dtype"])
    return DatasetFacts(stored.id, inputs, stored.manifest["classes"], facts, stored.manifest["splits"])
