"""Read an uploaded data set of any known format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cnet.data.dataset import Dataset
from cnet.data.dataset_format import DATASET_FORMATS, DatasetFormat
from cnet.errors import CheckpointError, DatasetError
from cnet.formats import Limits, MappedFile, Notice
from cnet.formats.parsing.quoting import quoted_list

_DEFAULT_LIMITS = Limits(elements=2**32)
_FALLBACK = "npz"
"""The format of files that no format recognizes; its reader says what is wrong with them."""
_CODES = {"too_many_elements": "too_large", "unsafe_pickle": "unsafe_archive", "duplicate_name": "unsafe_archive"}


@dataclass(frozen=True, eq=False)
class UploadedDataset:
    """A data set as read from a file.

    Attributes:
        dataset: the samples.
        format: name of the file format, such as ``npz``.
        warnings: what the user should know.
    """

    dataset: Dataset
    format: str
    warnings: tuple[Notice, ...]


def read_dataset_file(path: str | Path, limits: Limits = _DEFAULT_LIMITS) -> UploadedDataset:
    """Read a file of any registered format (``DATASET_FORMATS``). Nothing is unpickled.

    Args:
        path: the file; its name does not matter.
        limits: the most that the file may claim, checked before anything is allocated.

    Raises:
        DatasetError: the file cannot be used; ``code`` is one of those of the HTTP API.
        OSError: the file cannot be opened.
    """
    try:
        file = MappedFile.open(Path(path))
        file_format = _recognize(file)
        dataset, notices = file_format.read(file, limits)
    except CheckpointError as error:
        raise DatasetError(error.detail, code=_CODES.get(error.code, error.code)) from error
    except MemoryError as error:
        raise DatasetError(
            "the data set needs more memory than there is. Make it smaller.", code="too_large"
        ) from error
    return UploadedDataset(dataset, file_format.name, (*notices, *_absent_classes(dataset)))


def _recognize(file: MappedFile) -> DatasetFormat:
    for name in DATASET_FORMATS.names():
        if name != _FALLBACK and (found := DATASET_FORMATS.create(name)).recognizes(file):
            return found
    return DATASET_FORMATS.create(_FALLBACK)


def _absent_classes(dataset: Dataset) -> list[Notice]:
    if not dataset.has_labels:
        return []
    absent = sorted(set(range(dataset.classes)) - set(np.unique(dataset.train.labels).tolist()))
    return [Notice("absent_classes", f"no training sample has the labels {quoted_list(absent)}")] if absent else []
