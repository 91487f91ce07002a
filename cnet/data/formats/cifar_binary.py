"""The binary versions of CIFAR-10 and CIFAR-100, as they are published: a tar.gz archive; also as tar or zip.

A row is one label (CIFAR-10), or a coarse and a fine one (CIFAR-100, whose fine labels are taken), then the red, green
and blue plane of 32x32 pixels.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat
from cnet.data.splitting import join_splits
from cnet.errors import DatasetError
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.quoting import quoted, quoted_list

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_TRAIN = re.compile(r"data_batch_\d\.bin|train\.bin")
_TEST = re.compile(r"test_batch\.bin|test\.bin")
_PYTHON = re.compile(r"data_batch_\d|test_batch|batches\.meta|meta")
_NAMES = ("batches.meta.txt", "fine_label_names.txt")
_LONGEST_NAMES = 2**16  # bytes of the names of all classes


@DATASET_FORMATS.register("cifar_binary")
class CifarBinary(DatasetFormat):
    """CIFAR-10 or CIFAR-100 in its binary version."""

    summary: ClassVar[str] = "CIFAR-10 or CIFAR-100, binary version, as published (tar.gz), or as tar or zip."
    source: ClassVar[str] = "Krizhevsky, Learning multiple layers of features from tiny images, 2009"

    name: Literal["cifar_binary"] = "cifar_binary"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether an archive has the files of one of the two data sets, in the binary or in the Python version."""
        names = () if file.archive is None else file.archive.names
        bases = {_base(name) for name in names}
        return any(_TRAIN.fullmatch(base) or base in ("data_batch_1", "batches.meta") for base in bases)

    def read(self, file: DatasetFile) -> DatasetContents:
        """The images and labels.

        Raises:
            DatasetError: ``missing_arrays``, ``truncated``, ``bad_labels``, ``too_large``; ``unsafe_archive`` for the
                Python version, which is pickled.
            CheckpointError: the archive is damaged.
        """
        if file.archive is None:
            raise DatasetError("the file is no archive. Upload the archive as it was published.", code="corrupt")
        archive = file.archive
        files = [sorted(name for name in archive.names if one.fullmatch(_base(name))) for one in (_TRAIN, _TEST)]
        if not all(files):
            raise _refused(archive)
        elements = sum(archive.size(name) for names in files for name in names)
        file.check_claim(elements, elements)
        labels = 2 if any(_base(name) == "train.bin" for name in files[0]) else 1
        train, test = (_split(archive, names, labels) for names in files)
        return DatasetContents(join_splits(train, test), layout="channels_first", class_names=_class_names(archive))


def _refused(archive: Archive) -> DatasetError:
    if any(_PYTHON.fullmatch(_base(name)) for name in archive.names):
        return DatasetError(
            "the archive is the Python version of CIFAR, which is pickled, and pickles are never loaded. "
            "Upload the binary version.",
            code="unsafe_archive",
        )
    return DatasetError(
        f"the archive has {quoted_list(archive.names)}, and not both a training and a test file. "
        "Upload the archive as it was published.",
        code="missing_arrays",
    )


def _split(archive: Archive, names: list[str], labels: int) -> Split:
    rows = np.concatenate([_rows(archive, name, labels + _PIXELS) for name in names])
    return Split.of(
        rows[:, labels:].reshape(-1, 3, _SIDE, _SIDE),
        rows[:, labels - 1].astype(np.int64),
    )


def _rows(archive: Archive, name: str, length: int) -> npt.NDArray[np.uint8]:
    """The rows of a file, uint8, shape (n, length). Raises DatasetError (``truncated``)."""
    content = archive.read(name)
    if len(content) == 0 or len(content) % length:
        raise DatasetError(
            f"{quoted(name)} has {len(content)} bytes, which is no multiple of {length}, the bytes of a labelled "
            "image. Download the archive again.",
            code="truncated",
        )
    return content.reshape(-1, length)


def _class_names(archive: Archive) -> tuple[str, ...] | None:
    for name in archive.names:
        if _base(name) in _NAMES and archive.size(name) <= _LONGEST_NAMES:
            lines = archive.read(name).tobytes().decode("utf-8", "replace").split("\n")
            return tuple(line.strip() for line in lines if line.strip()) or None
    return None


def _base(name: str) -> str:
    return name.rpartition("/")[2]
