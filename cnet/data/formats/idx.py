"""IDX files of the MNIST family: each holds one array, gzip or not; a data set is a zip or tar archive of them.

A file whose name has ``label`` in it holds labels, any other one inputs. ``t10k`` or ``test`` in a name means the test
set, anything else the training set. A single file without an archive holds inputs without labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat, Layout
from cnet.data.input_arrays import NamedArray, are_images, check_input_array, read_images, read_plain_input
from cnet.data.splitting import checked_split, join_splits, split_off_test
from cnet.data.target_arrays import check_target_array, read_targets
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.gzip_file import inflate, is_gzip
from cnet.formats.parsing.quoting import quoted, quoted_list

_DTYPES: Final = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MOST_DIMENSIONS = 8
_HOW = "Pack train-images, train-labels, t10k-images and t10k-labels in one zip or tar archive."


@DATASET_FORMATS.register("idx")
class IdxDataset(DatasetFormat):
    """Arrays as the MNIST data sets are published: IDX files in a zip or tar archive."""

    summary: ClassVar[str] = "IDX files as of MNIST, gzip or not, in a zip or tar archive."
    source: ClassVar[str] = "LeCun, Cortes, Burges, The MNIST database, 1998"

    name: Literal["idx"] = "idx"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether a file is an IDX file, or an archive that has one by its name."""
        if file.archive is None:
            return _is_idx(file.head(4))
        return any(_is_named_idx(name) for name in file.archive.names)

    def read(self, file: DatasetFile) -> DatasetContents:
        """The samples.

        Raises:
            DatasetError: ``missing_arrays``, ``corrupt``, ``truncated``, ``length_mismatch``, ``bad_shape``,
                ``bad_labels``, ``not_finite``, ``too_large``.
            CheckpointError: the archive is damaged.
        """
        notices: list[Notice] = []
        if file.archive is None:
            array = _array("of the file", file.array(0, file.size))
            file.check_claim(array.values.size, array.values.nbytes)
            samples, layout = _samples(array, None, notices)
            return DatasetContents(split_off_test(samples, notices), tuple(notices), layout)
        names = _names(file.archive, notices)
        contents = dict(_contents(file.archive, names, file.most_bytes))
        arrays = {use: _array(names[use], content) for use, content in contents.items()}
        file.check_claim(sum(a.values.size for a in arrays.values()), sum(a.values.nbytes for a in arrays.values()))
        train, layout = _samples(arrays[_Use("train", "inputs")], arrays.get(_Use("train", "labels")), notices)
        if _Use("test", "inputs") not in arrays:
            return DatasetContents(split_off_test(train, notices), tuple(notices), layout)
        test, _ = _samples(arrays[_Use("test", "inputs")], arrays.get(_Use("test", "labels")), notices)
        return DatasetContents(join_splits(train, test), tuple(notices), layout)


@dataclass(frozen=True)
class _Use:
    """What a file of an archive holds: ``split`` is train or test, ``role`` is inputs or labels."""

    split: str
    role: str

    @classmethod
    def of(cls, name: str) -> _Use:
        base = name.rpartition("/")[2].lower()
        return cls("test" if "t10k" in base or "test" in base else "train", "labels" if "label" in base else "inputs")


def _names(archive: Archive, notices: list[Notice]) -> dict[_Use, str]:
    """The names of the files by what they hold. Raises DatasetError (``missing_arrays``)."""
    names: dict[_Use, str] = {}
    for name in filter(_is_named_idx, archive.names):
        use = _Use.of(name)
        if use in names:
            raise DatasetError(
                f"the archive has two files with the {use.role} of the {use.split} set: {quoted(names[use])} and "
                f"{quoted(name)}. Pack one data set alone.",
                code="missing_arrays",
            )
        names[use] = name
    without_inputs = {use.split for use in names} - {use.split for use in names if use.role == "inputs"}
    if without_inputs or _Use("train", "inputs") not in names:
        raise DatasetError(
            f"the archive has {quoted_list(names.values())}, and no inputs of the {(*without_inputs, 'train')[0]} set. "
            f"{_HOW}",
            code="missing_arrays",
        )
    ignored = [name for name in archive.names if not _is_named_idx(name)]
    if ignored:
        detail = f"files that are not part of the data set were left out: {quoted_list(ignored)}"
        notices.append(Notice("ignored_files", detail))
    return names


def _is_named_idx(name: str) -> bool:
    """Whether a name has the form ``train-images-idx3-ubyte``, ``train-images.idx3-ubyte.gz`` or the like."""
    base = name.rpartition("/")[2].lower()
    return not base.startswith(".") and ("-idx" in base or ".idx" in base)


def _contents(
    archive: Archive, names: dict[_Use, str], most_bytes: int
) -> Iterator[tuple[_Use, npt.NDArray[np.uint8]]]:
    """Yield the bytes of each file, inflated, uint8, shape (n,); together no more than ``most_bytes``."""
    left = most_bytes
    for use, name in names.items():
        content = archive.read(name)
        if is_gzip(content[:2].tobytes()):
            content = inflate(content, left)
        left -= len(content)
        yield use, content


def _is_idx(head: bytes) -> bool:
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] in _DTYPES and 1 <= head[3] <= _MOST_DIMENSIONS


def _array(name: str, content: npt.NDArray[np.uint8]) -> NamedArray:
    """The array of an IDX file: 0, 0, type, dimensions, each length as four bytes, the values, all big-endian."""
    head = content[:4].tobytes()
    if not _is_idx(head):
        raise DatasetError(f"{quoted(name)} is no IDX file. Pack the files as they were published.", code="corrupt")
    start = 4 + 4 * head[3]
    lengths = np.frombuffer(content[4:start].tobytes().ljust(4 * head[3], b"\0"), ">u4")
    shape, dtype = tuple(int(length) for length in lengths), np.dtype(_DTYPES[head[2]])
    stated = start + prod(shape) * dtype.itemsize
    if len(content) != stated:
        raise DatasetError(
            f"{quoted(name)} has {len(content)} bytes, and its shape {shape} needs {stated}. Download it again.",
            code="truncated" if len(content) < stated else "corrupt",
        )
    return NamedArray(name, content[start:].view(dtype).reshape(shape))


def _samples(x: NamedArray, y: NamedArray | None, notices: list[Notice]) -> tuple[Split, Layout | None]:
    """The samples of one set. Raises DatasetError."""
    check_input_array(x.name, x.values.dtype, x.values.shape)
    layout: Layout | None = None
    if are_images(x.values.shape):
        inputs, layout = read_images(x, notices)
    else:
        inputs = read_plain_input(x, notices)
    if y is None:
        return Split.of(inputs), layout
    check_target_array(y.name, y.values.dtype, y.values.shape)
    return checked_split(Split.of(inputs, read_targets(y, notices)), f"{x.name} and {y.name}"), layout
