"""Data sets that users upload: an npz of images and labels, and our canonical form of it.

Arrays: ``x_train, y_train, x_test, y_test``; or ``x, y``, of which a seeded fifth becomes the test set. Images are
(N, H, W), (N, C, H, W) or (N, H, W, C), uint8 or floating point. Of four dimensions, the channels are

1. the axis of at most 4 of axis 1 and the last, where only one of them is;
2. otherwise the one that leaves square images, where only one of them does;
3. otherwise axis 1.

The user is told where the first rule did not decide. Labels are whole numbers from 0, of shape (N,) or (N, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from cnet.data.dataset import Dataset
from cnet.documents import StrictDocument
from cnet.errors import CheckpointError, DatasetError
from cnet.formats.archive import ZipArchive
from cnet.formats.base import Limits, Notice, Source, listed
from cnet.formats.canonical import read_canonical, write_canonical
from cnet.formats.manifest import WarningRow
from cnet.formats.npy import NpyMember, npy_member
from cnet.formats.npz import is_npz
from cnet.weights import Tensor, Weights

_SPLIT = ("x_train", "y_train", "x_test", "y_test")
_WHOLE = ("x", "y")
_SEED = 0
_TEST_SHARE = 5  # one in five
_MOST_CLASSES = 100_000
_FEW = 4  # the most channels that an image usually has
_DEFAULT = Limits(elements=2**32)
_CODES = {"too_many_elements": "too_large", "unsafe_pickle": "unsafe_archive", "duplicate_name": "unsafe_archive"}

Images = npt.NDArray[np.uint8] | npt.NDArray[np.float32]


class DatasetManifest(StrictDocument):
    """All that the API shows of a data set, but what only the upload knows."""

    version: Literal[1] = 1
    format: str
    splits: dict[str, int]
    input_shape: tuple[int, int, int] = Field(strict=False)
    classes: int
    dtype: str
    warnings: tuple[WarningRow, ...] = Field(strict=False)

    @classmethod
    def of(cls, dataset: Dataset, warnings: tuple[Notice, ...] = (), file_format: str = "npz") -> DatasetManifest:
        """Describe a data set."""
        return cls(
            format=file_format,
            splits={"train": len(dataset.x_train), "test": len(dataset.x_test)},
            input_shape=dataset.input_shape,
            classes=dataset.classes,
            dtype=dataset.x_train.dtype.name,
            warnings=tuple(WarningRow.of(notice) for notice in warnings),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> DatasetManifest:
        """Read what ``to_json`` wrote. Raises DatasetError (``corrupt``)."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise DatasetError("the data set's manifest is damaged", code="corrupt") from error

    def to_json(self) -> str:
        """One line of JSON, the same for the same data set."""
        return self.model_dump_json()


def read_npz_dataset(path: str | Path, limits: Limits = _DEFAULT) -> tuple[Dataset, tuple[Notice, ...]]:
    """Read an uploaded npz. Nothing is unpickled; sizes are checked before anything is allocated.

    Raises:
        DatasetError: ``empty_file, corrupt, truncated, missing_arrays, length_mismatch, bad_shape, bad_labels,
            not_finite, too_large, unsafe_archive``.
        OSError: the file cannot be opened.
    """
    try:
        return _read(Source.open(Path(path)), limits)
    except CheckpointError as error:
        raise DatasetError(error.detail, code=_CODES.get(error.code, error.code)) from error
    except MemoryError as error:
        raise DatasetError("the data set needs more memory than there is to read it", code="too_large") from error


def write_dataset(path: Path, dataset: Dataset) -> None:
    """Write the canonical form: safetensors with the four arrays, the same bytes for the same data."""
    tensors = [Tensor(name, getattr(dataset, name).dtype.name, getattr(dataset, name)) for name in _SPLIT]
    write_canonical(path, Weights(tuple(tensors), ()))


def read_dataset(path: Path) -> Dataset:
    """Map the canonical form; arrays are read-only. Raises DatasetError (``corrupt``) and OSError."""
    try:
        weights = read_canonical(path)
        arrays: dict[str, Any] = {name: weights[name].data for name in _SPLIT}
    except (CheckpointError, KeyError) as error:
        raise DatasetError("the canonical data set is damaged", code="corrupt") from error
    return Dataset(**arrays)


def _read(source: Source, limits: Limits) -> tuple[Dataset, tuple[Notice, ...]]:
    members, notices = _members(source, limits)
    if "x" in members:
        dataset = _split(*_part(members["x"], members["y"], notices), notices)
    else:
        train = _part(members["x_train"], members["y_train"], notices)
        test = _part(members["x_test"], members["y_test"], notices)
        _check_alike(train[0], test[0])
        dataset = Dataset(*train, *test)
    absent = sorted(set(range(dataset.classes)) - set(np.unique(dataset.y_train).tolist()))
    if absent:
        notices.append(Notice("absent_classes", f"no training image has the labels {listed(absent)}"))
    return dataset, tuple(notices)


def _check_alike(train: Images, test: Images) -> None:
    if train.shape[1:] != test.shape[1:] or train.dtype != test.dtype:
        raise DatasetError(
            f"the images of x_train ({_told(train)}) and of x_test ({_told(test)}) differ: "
            "give both one shape and one type",
            code="bad_shape",
        )


def _members(source: Source, limits: Limits) -> tuple[Mapping[str, NpyMember], list[Notice]]:
    """The arrays that make up the data set, by name, not loaded yet."""
    if bytes(source.mapped[:2]) != b"PK":
        raise DatasetError("the file is not an npz archive: save the arrays with numpy.savez", code="corrupt")
    archive = ZipArchive(source, limits)
    names = [name.removesuffix(".npy") for name in archive.names]
    paths = [name for name in archive.names if "/" in name or "\\" in name or name.startswith("..")]
    if paths:
        raise DatasetError(f"the archive holds paths ({listed(paths)}) instead of arrays", code="unsafe_archive")
    wanted = _SPLIT if set(_SPLIT) <= set(names) else _WHOLE
    missing = [name for name in wanted if f"{name}.npy" not in archive]
    if missing or not is_npz(archive):
        raise DatasetError(
            f"the archive needs x_train, y_train, x_test and y_test, or x and y; it has {listed(names) or 'nothing'}",
            code="missing_arrays",
        )
    members = {name: npy_member(archive, f"{name}.npy") for name in wanted}
    if sum(member.elements for member in members.values()) > limits.elements or (
        sum(member.nbytes for member in members.values()) > limits.decoded_bytes(source.size)
    ):
        raise DatasetError("the arrays unfold to more than is taken: make the data set smaller", code="too_large")
    extra = [name for name in names if name not in wanted]
    detail = f"arrays that are no part of the data set were left out: {listed(extra)}"
    return members, [Notice("ignored_arrays", detail)] if extra else []


def _part(x: NpyMember, y: NpyMember, notices: list[Notice]) -> tuple[Images, npt.NDArray[np.int64]]:
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
        raise DatasetError(f"{x.name} has element type {x.dtype.str}; images are uint8 or float", code="bad_shape")
    if len(x.shape) not in (3, 4) or 0 in x.shape:
        raise DatasetError(
            f"{x.name} has shape {x.shape}; images are (N, H, W), (N, C, H, W) or (N, H, W, C), none of them 0",
            code="bad_shape",
        )
    labels = _labels(y)
    if len(labels) != x.shape[0]:
        raise DatasetError(
            f"{x.name} has {x.shape[0]} images and {y.name} {len(labels)} labels", code="length_mismatch"
        )
    return _typed(_channels_first(x, notices), x.name, notices), labels


def _labels(y: NpyMember) -> npt.NDArray[np.int64]:
    if y.dtype.kind not in "iu":
        raise DatasetError(
            f"{y.name} has element type {y.dtype.str}; labels are whole numbers: convert them to int64",
            code="bad_labels",
        )
    if len(y.shape) != 1 and y.shape[1:] != (1,):
        raise DatasetError(
            f"{y.name} has shape {y.shape}; labels are one number an image: of one-hot rows take argmax(axis=1)",
            code="bad_labels",
        )
    values: npt.NDArray[Any] = y.load().reshape(-1)
    if values.size and (int(values.min()) < 0 or int(values.max()) >= _MOST_CLASSES):
        raise DatasetError(
            f"{y.name} has labels from {int(values.min())} to {int(values.max())}; they are 0 to classes - 1, and "
            f"below {_MOST_CLASSES}",
            code="bad_labels",
        )
    return np.array(values, np.int64)


def _channels_first(x: NpyMember, notices: list[Notice]) -> npt.NDArray[Any]:
    images = x.load()
    if images.ndim == 3:
        return images[:, None]
    axis, sure = _channel_axis(x.shape)
    if not sure:
        place = "first" if axis == 1 else "last"
        detail = f"{x.name} of shape {x.shape} could have its channels first or last; they were taken to be {place}"
        notices.append(Notice("ambiguous_channels", detail))
    return images if axis == 1 else np.moveaxis(images, 3, 1)


def _channel_axis(shape: tuple[int, ...]) -> tuple[int, bool]:
    """The axis of the channels, and whether that is beyond doubt."""
    first, middle, last = shape[1:]
    if (first <= _FEW) != (last <= _FEW):
        return (1, True) if first <= _FEW else (3, True)
    square_behind, square_before = middle == last, first == middle
    return (3, False) if square_before and not square_behind else (1, False)


def _typed(images: npt.NDArray[Any], name: str, notices: list[Notice]) -> Images:
    """As uint8 or float32, in C order, all finite."""
    if images.dtype == np.uint8:
        return np.ascontiguousarray(images)
    if images.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(images, np.float32)
        if not np.isfinite(values).all():
            raise DatasetError(f"{name} holds NaN, infinity or values beyond float32", code="not_finite")
        if float(np.abs(values).max()) > 32.0:
            detail = f"{name} has floating-point values up to {float(values.max()):g}; they are taken as they are"
            notices.append(Notice("large_values", detail))
        return values
    if images.dtype.kind in "iu" and int(images.min()) >= 0 and int(images.max()) <= 255:
        notices.append(Notice("converted", f"{name} was {images.dtype.name} from 0 to 255 and is taken as uint8"))
        return np.ascontiguousarray(images, np.uint8)
    notices.append(Notice("converted", f"{name} was {images.dtype.name} and is taken as float32, unscaled"))
    return np.ascontiguousarray(images, np.float32)


def _split(x: Images, y: npt.NDArray[np.int64], notices: list[Notice]) -> Dataset:
    if len(x) < 2:
        raise DatasetError("x has one image; a split in training and test needs two", code="bad_shape")
    test = max(1, len(x) // _TEST_SHARE)
    order = np.random.default_rng(_SEED).permutation(len(x))
    notices.append(
        Notice("split_made", f"there is no test set: {test} of {len(x)} images were set aside by a fixed random split")
    )
    train, held = np.sort(order[test:]), np.sort(order[:test])
    return Dataset(x[train], y[train], x[held], y[held])


def _told(images: npt.NDArray[Any]) -> str:
    return f"{'x'.join(map(str, images.shape[1:]))} {images.dtype.name}"
