"""Read an uploaded data set of any known format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cnet.data.dataset import Dataset
from cnet.data.dataset_file import DEFAULT_LIMITS, DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetFormat, Layout
from cnet.errors import CheckpointError, DatasetError
from cnet.formats import Limits, Notice
from cnet.formats.parsing.quoting import quoted_list

_CODES = {
    "too_many_elements": "too_large",
    "unsafe_pickle": "unsafe_archive",
    "duplicate_name": "unsafe_archive",
    "unsupported_dtype": "bad_shape",
}


@dataclass(frozen=True, eq=False)
class UploadedDataset:
    """A data set as read from a file.

    Attributes:
        dataset: the samples.
        format: name of the file format, such as ``npz``.
        warnings: what the user should know.
        layout: where the file has the channels of its images, as in ``DatasetContents``.
        class_names: the names of the classes, by label; None where the file has none.
    """

    dataset: Dataset
    format: str
    warnings: tuple[Notice, ...]
    layout: Layout | None = None
    class_names: tuple[str, ...] | None = None


def read_dataset_file(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> UploadedDataset:
    """Read a file of any registered format (``DATASET_FORMATS``), or such a file compressed with gzip.

    Nothing is unpickled, and no archive is unpacked to the disk.

    Args:
        path: the file; its name does not matter.
        limits: the most that the file may claim, checked before anything is allocated.

    Raises:
        DatasetError: the file cannot be used; ``code`` is one of those of the HTTP API.
        OSError: the file cannot be opened.
    """
    try:
        file = DatasetFile.open_dataset(Path(path), limits)
        file_format = _recognize(file)
        contents = file_format.read(file)
    except CheckpointError as error:
        raise DatasetError(error.detail, code=_CODES.get(error.code, error.code)) from error
    except MemoryError as error:
        raise DatasetError(
            "the data set needs more memory than there is. Make it smaller.", code="too_large"
        ) from error
    warnings = (*contents.notices, *_absent_classes(contents.dataset))
    return UploadedDataset(contents.dataset, file_format.name, warnings, contents.layout, contents.class_names)


def has_known_format(path: Path) -> bool:
    """Whether a file is of a format that is installed here, be it damaged or not. Raises OSError."""
    try:
        file = DatasetFile.open_dataset(path, DEFAULT_LIMITS)
        return any(DATASET_FORMATS.create(name).recognizes(file) for name in DATASET_FORMATS.names())
    except (CheckpointError, DatasetError):
        return False


def _recognize(file: DatasetFile) -> DatasetFormat:
    """The format of a file. Raises DatasetError (``missing_arrays`` for an archive, otherwise ``corrupt``)."""
    for name in DATASET_FORMATS.names():
        if (found := DATASET_FORMATS.create(name)).recognizes(file):
            return found
    known = ", ".join(DATASET_FORMATS.names())
    if file.archive is not None:
        held = quoted_list(file.archive.names, 5) or "nothing"
        raise DatasetError(
            f"the archive holds {held}, which is no data set of a known format. Upload one of: {known}.",
            code="missing_arrays",
        )
    raise DatasetError(f"the file {_described(file)}. Upload one of: {known}.", code="corrupt")


def _described(file: DatasetFile) -> str:
    head = file.head(512)
    if head.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file it points to: git lfs pull fetches that"
    if head.lstrip()[:1] == b"<":
        return "is a web page: the download answered with HTML, not with the data set"
    if head.startswith(b"\x93NUMPY"):
        return "is a single NumPy array, without names: numpy.savez saves arrays by their names"
    return "is no data set of a known format"


def _absent_classes(dataset: Dataset) -> list[Notice]:
    if not dataset.has_labels:
        return []
    absent = sorted(set(range(dataset.classes)) - set(np.unique(dataset.train.labels).tolist()))
    return [Notice("absent_classes", f"no training sample has the labels {quoted_list(absent)}")] if absent else []
