"""Images and labels from the arrays of a file: shapes, channel axis, element types, and the split into two sets.

Images are (N, H, W), (N, C, H, W) or (N, H, W, C), uint8 or floating point. Of four dimensions, the channels are

1. the one axis of at most 4 elements among axis 1 and the last, where there is one;
2. otherwise the axis without which the image is square, where there is one;
3. otherwise axis 1.

A notice says where the first rule did not decide. Labels are integers from 0, of shape (N,) or (N, 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Dataset
from cnet.errors import DatasetError
from cnet.formats import Notice

_SEED = 0
_TEST_SHARE = 5  # one image in five
_MOST_CLASSES = 100_000
_MOST_CHANNELS = 4  # that an image usually has
_LARGE_VALUE = 32.0  # beyond it, floating-point images have probably not been scaled

Images = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NamedArray:
    """An array and its name in the file, for messages."""

    name: str
    values: npt.NDArray[Any]


def check_image_array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array that cannot hold images, before it is read. Raises DatasetError (``bad_shape``)."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DatasetError(
            f"array {name}: its element type is {dtype.str}, and images are uint8 or floating point. Convert it.",
            code="bad_shape",
        )
    if len(shape) not in (3, 4) or 0 in shape:
        raise DatasetError(
            f"array {name}: its shape is {shape}. "
            "Save images as (N, H, W), (N, C, H, W) or (N, H, W, C), none of them 0.",
            code="bad_shape",
        )


def check_label_array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array that cannot hold labels, before it is read. Raises DatasetError (``bad_labels``)."""
    if dtype.kind not in "iu":
        raise DatasetError(
            f"array {name}: its element type is {dtype.str}, and labels are integers. Convert them to int64.",
            code="bad_labels",
        )
    if len(shape) != 1 and shape[1:] != (1,):
        raise DatasetError(
            f"array {name}: its shape is {shape}, and labels are one number an image. "
            "Take argmax(axis=1) of one-hot rows.",
            code="bad_labels",
        )


def labelled_images(x: NamedArray, y: NamedArray, notices: list[Notice]) -> tuple[Images, Labels]:
    """Images and labels of one set, as the network takes them.

    Args:
        x: images, which ``check_image_array`` accepts.
        y: labels, which ``check_label_array`` accepts.
        notices: gets what the user should know.

    Returns:
        Images, uint8 or float32, shape (n, c, h, w), and labels, int64, shape (n,).

    Raises:
        DatasetError: ``bad_labels``, ``length_mismatch``, ``not_finite``.
    """
    labels = _labels(y)
    if len(labels) != len(x.values):
        raise DatasetError(
            f"arrays {x.name} and {y.name}: they have {len(x.values)} images and {len(labels)} labels. "
            "Save one label for each image.",
            code="length_mismatch",
        )
    return _typed_images(_channels_first(x, notices), x.name, notices), labels


def join_sets(train: tuple[Images, Labels], test: tuple[Images, Labels]) -> Dataset:
    """The data set of a training and a test set of images, shape (n, c, h, w), and labels, shape (n,).

    Raises:
        DatasetError: (``bad_shape``) shape or type of their images differ.
    """
    if train[0].shape[1:] != test[0].shape[1:] or train[0].dtype != test[0].dtype:
        raise DatasetError(
            f"arrays x_train and x_test: their images are {_described(train[0])} and {_described(test[0])}. "
            "Give both one shape and one element type.",
            code="bad_shape",
        )
    return Dataset.of_arrays(*train, *test)


def split_set(images: Images, labels: Labels, notices: list[Notice]) -> Dataset:
    """The data set of one set, of which a fifth, drawn with a fixed seed, becomes the test set.

    Args:
        images: shape (n, c, h, w), uint8 or float32.
        labels: shape (n,), int64.
        notices: gets how many images were set aside.

    Raises:
        DatasetError: (``bad_shape``) there are fewer than two images.
    """
    count = len(images)
    if count < 2:
        raise DatasetError(
            "array x: it has one image, and a split into training and test set needs two. Add images.",
            code="bad_shape",
        )
    test_count = max(1, count // _TEST_SHARE)
    order = np.random.default_rng(_SEED).permutation(count)
    detail = f"there is no test set: {test_count} of {count} images were set aside by a fixed random split"
    notices.append(Notice("split_made", detail))
    train, test = np.sort(order[test_count:]), np.sort(order[:test_count])
    return Dataset.of_arrays(images[train], labels[train], images[test], labels[test])


def _labels(y: NamedArray) -> Labels:
    values = y.values.reshape(-1)
    if values.size and (int(values.min()) < 0 or int(values.max()) >= _MOST_CLASSES):
        raise DatasetError(
            f"array {y.name}: its labels are {int(values.min())} to {int(values.max())}. "
            f"Number the classes from 0, fewer than {_MOST_CLASSES} of them.",
            code="bad_labels",
        )
    return np.array(values, np.int64)


def _channels_first(x: NamedArray, notices: list[Notice]) -> npt.NDArray[Any]:
    images = x.values
    if images.ndim == 3:
        return images[:, None]
    axis, certain = _channel_axis(images.shape)
    if not certain:
        place = "first" if axis == 1 else "last"
        detail = (
            f"{x.name} of shape {images.shape} may have its channels first or last; they were read as being {place}"
        )
        notices.append(Notice("ambiguous_channels", detail))
    return images if axis == 1 else np.moveaxis(images, 3, 1)


def _channel_axis(shape: tuple[int, ...]) -> tuple[int, bool]:
    """The axis of the channels, and whether that is certain."""
    first, middle, last = shape[1:]
    if (first <= _MOST_CHANNELS) != (last <= _MOST_CHANNELS):
        return (1, True) if first <= _MOST_CHANNELS else (3, True)
    square_if_first, square_if_last = middle == last, first == middle
    return (3, False) if square_if_last and not square_if_first else (1, False)


def _typed_images(images: npt.NDArray[Any], name: str, notices: list[Notice]) -> Images:
    """The images as uint8 or float32, in C order. Raises DatasetError (``not_finite``)."""
    if images.dtype == np.uint8:
        return np.ascontiguousarray(images)
    if images.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(images, np.float32)
        if not np.isfinite(values).all():
            raise DatasetError(
                f"array {name}: it has values that are NaN, infinite or beyond float32. Replace or scale them.",
                code="not_finite",
            )
        if float(np.abs(values).max()) > _LARGE_VALUE:
            detail = f"{name} has floating-point values up to {float(values.max()):g}, which were not scaled"
            notices.append(Notice("large_values", detail))
        return values
    if images.dtype.kind in "iu" and int(images.min()) >= 0 and int(images.max()) <= 255:
        notices.append(Notice("converted", f"{name} was {images.dtype.name} from 0 to 255 and was read as uint8"))
        return np.ascontiguousarray(images, np.uint8)
    notices.append(Notice("converted", f"{name} was {images.dtype.name} and was read as float32, unscaled"))
    return np.ascontiguousarray(images, np.float32)


def _described(images: Images) -> str:
    return f"{'x'.join(map(str, images.shape[1:]))} {images.dtype.name}"
