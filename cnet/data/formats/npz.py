"""Npz files of images and labels.

Arrays: ``x_train, y_train, x_test, y_test``; or ``x, y``, of which a fifth becomes the test set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from cnet.data.dataset import Dataset
from cnet.data.dataset_format import DATASET_FORMATS, DatasetFormat
from cnet.data.labelled_images import (
    Images,
    Labels,
    NamedArray,
    check_image_array,
    check_label_array,
    join_sets,
    labelled_images,
    split_set,
)
from cnet.errors import DatasetError
from cnet.formats import Limits, MappedFile, Notice
from cnet.formats.npz import has_only_arrays
from cnet.formats.parsing.npy_arrays import NpyArray, read_npy_header
from cnet.formats.parsing.quoting import quoted_list
from cnet.formats.parsing.zip_archive import ZipArchive, is_zip

_TWO_SETS = ("x_train", "y_train", "x_test", "y_test")
_ONE_SET = ("x", "y")


@DATASET_FORMATS.register("npz")
class NpzDataset(DatasetFormat):
    """NumPy's archive of arrays, with images and labels."""

    summary: ClassVar[str] = "NumPy's npz with x_train, y_train, x_test and y_test, or with x and y."
    source: ClassVar[str] = "https://numpy.org/doc/stable/reference/generated/numpy.savez.html"

    name: Literal["npz"] = "npz"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether a file begins as a zip archive does."""
        return is_zip(file)

    def read(self, file: MappedFile, limits: Limits) -> tuple[Dataset, tuple[Notice, ...]]:
        """Images and labels.

        Raises:
            DatasetError: ``corrupt``, ``missing_arrays``, ``length_mismatch``, ``bad_shape``, ``bad_labels``,
                ``not_finite``, ``too_large``, ``unsafe_archive``.
            CheckpointError: the archive is damaged.
        """
        arrays, notices = _arrays(file, limits)
        if "x" in arrays:
            return split_set(*_read_set(arrays["x"], arrays["y"], notices), notices), tuple(notices)
        train = _read_set(arrays["x_train"], arrays["y_train"], notices)
        test = _read_set(arrays["x_test"], arrays["y_test"], notices)
        return join_sets(train, test), tuple(notices)


def _read_set(x: NpyArray, y: NpyArray, notices: list[Notice]) -> tuple[Images, Labels]:
    check_image_array(x.name, x.dtype, x.shape)
    check_label_array(y.name, y.dtype, y.shape)
    return labelled_images(NamedArray(x.name, x.load()), NamedArray(y.name, y.load()), notices)


def _arrays(file: MappedFile, limits: Limits) -> tuple[Mapping[str, NpyArray], list[Notice]]:
    """The headers of the arrays that make up the data set, by name."""
    if not is_zip(file):
        raise DatasetError("the file is not an npz archive. Save the arrays with numpy.savez.", code="corrupt")
    archive = ZipArchive(file, limits)
    names = [name.removesuffix(".npy") for name in archive.names]
    paths = [name for name in archive.names if "/" in name or "\\" in name or name.startswith("..")]
    if paths:
        raise DatasetError(
            f"the archive holds paths ({quoted_list(paths)}) and not only arrays. Save the arrays with numpy.savez.",
            code="unsafe_archive",
        )
    wanted = _TWO_SETS if set(_TWO_SETS) <= set(names) else _ONE_SET
    missing = [name for name in wanted if f"{name}.npy" not in archive]
    if missing or not has_only_arrays(archive):
        raise DatasetError(
            f"the archive has {quoted_list(names) or 'no arrays'}. "
            "Save x_train, y_train, x_test and y_test, or x and y.",
            code="missing_arrays",
        )
    arrays = {name: read_npy_header(archive, f"{name}.npy") for name in wanted}
    elements = sum(array.elements for array in arrays.values())
    nbytes, allowed = sum(array.nbytes for array in arrays.values()), limits.decoded_bytes(file.size)
    if elements > limits.elements or nbytes > allowed:
        raise DatasetError(
            f"the arrays have {elements} elements in {nbytes} bytes, and at most {limits.elements} elements in "
            f"{allowed} bytes are accepted. Make the data set smaller.",
            code="too_large",
        )
    ignored = [name for name in names if name not in wanted]
    detail = f"arrays that are not part of the data set were left out: {quoted_list(ignored)}"
    return arrays, [Notice("ignored_arrays", detail)] if ignored else []
