"""Inputs of a network from the arrays of a file: shapes, the axis of channels, element types.

An input is either images or taken as it is. Images are (N, H, W), (N, C, H, W) or (N, H, W, C), uint8 or floating
point. Of four dimensions, the channels are

1. the one axis of at most 4 elements among axis 1 and the last, where there is one;
2. otherwise the axis without which the image is square, where there is one;
3. otherwise axis 1.

A notice says where the first rule did not decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.data.dataset_format import Layout
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.contents import MAX_DIMENSIONS

_MOST_CHANNELS = 4  # that an image usually has
_LARGE_VALUE = 32.0  # beyond it, floating-point images have probably not been scaled

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class NamedArray:
    """An array and its name in the file, for messages."""

    name: str
    values: Array


def check_input_array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array that cannot hold inputs, before it is read. Raises DatasetError (``bad_shape``)."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DatasetError(
            f"array {name}: its element type is {dtype.str}, and inputs are numbers of at most 64 bits. Convert it.",
            code="bad_shape",
        )
    if not shape or 0 in shape or len(shape) > MAX_DIMENSIONS:
        raise DatasetError(
            f"array {name}: its shape is {shape}. Give it a first axis that counts the samples, and no axis of length "
            "0.",
            code="bad_shape",
        )


def are_images(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape is read as images where its name does not say what it is."""
    return len(shape) in (3, 4)


def read_images(x: NamedArray, notices: list[Notice]) -> tuple[Array, Layout | None]:
    """Images as networks take them.

    Args:
        x: images, which ``check_input_array`` and ``are_images`` accept.
        notices: gets what the user should know.

    Returns:
        The images, uint8 or float32, shape (n, c, h, w), and where their channels were.

    Raises:
        DatasetError: ``not_finite``.
    """
    images, layout = _channels_first(x, notices)
    return _typed_images(images, x.name, notices), layout


def read_plain_input(x: NamedArray, notices: list[Notice]) -> Array:
    """An input whose axes stay as they are: uint8, bool, int64 or float32, in C order.

    Args:
        x: the input, which ``check_input_array`` accepts.
        notices: gets what the user should know.

    Raises:
        DatasetError: ``not_finite``; ``bad_shape`` for integers beyond int64.
    """
    values = x.values
    if values.dtype.kind == "f":
        return finite_float32(x)
    if values.dtype == np.uint8 or values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    if values.dtype.kind == "u" and int(values.max()) > np.iinfo(np.int64).max:
        raise DatasetError(
            f"array {x.name}: its largest value is {int(values.max())}, which int64 cannot hold. Convert the array.",
            code="bad_shape",
        )
    if values.dtype != np.int64:
        notices.append(Notice("converted", f"{x.name} was {values.dtype.name} and was read as int64"))
    return np.ascontiguousarray(values, np.int64)


def finite_float32(x: NamedArray) -> npt.NDArray[np.float32]:
    """A floating-point array as float32 in C order. Raises DatasetError (``not_finite``)."""
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(x.values, np.float32)
    if not np.isfinite(values).all():
        raise DatasetError(
            f"array {x.name}: it has values that are NaN, infinite or beyond float32. Replace or scale them.",
            code="not_finite",
        )
    return values


def _channels_first(x: NamedArray, notices: list[Notice]) -> tuple[Array, Layout | None]:
    images = x.values
    if images.ndim == 3:
        if images.dtype.kind == "f":
            detail = (
                f"{x.name} of shape {images.shape} was read as grey images of one channel, which a program that takes "
                "samples of two axes gets without that channel; a built-in architecture takes them as images"
            )
            notices.append(Notice("read_as_images", detail))
        return images[:, None], None
    axis, certain = _channel_axis(images.shape)
    if not certain:
        place = "first" if axis == 1 else "last"
        detail = (
            f"{x.name} of shape {images.shape} may have its channels first or last; they were read as being {place}. "
            f"An array of the name inputs{x.name.removeprefix('x')}.x keeps its axes"
        )
        notices.append(Notice("ambiguous_channels", detail))
    return (images, "channels_first") if axis == 1 else (np.moveaxis(images, 3, 1), "channels_last")


def _channel_axis(shape: tuple[int, ...]) -> tuple[int, bool]:
    """The axis of the channels, and whether that is certain."""
    first, middle, last = shape[1:]
    if (first <= _MOST_CHANNELS) != (last <= _MOST_CHANNELS):
        return (1, True) if first <= _MOST_CHANNELS else (3, True)
    square_if_first, square_if_last = middle == last, first == middle
    return (3, False) if square_if_last and not square_if_first else (1, False)


def _typed_images(images: Array, name: str, notices: list[Notice]) -> Array:
    """The images as uint8 or float32, in C order. Raises DatasetError (``not_finite``)."""
    if images.dtype == np.uint8:
        return np.ascontiguousarray(images)
    if images.dtype.kind == "f":
        values = finite_float32(NamedArray(name, images))
        if float(np.abs(values).max()) > _LARGE_VALUE:
            detail = f"{name} has floating-point values up to {float(values.max()):g}, which were not scaled"
            notices.append(Notice("large_values", detail))
        return values
    if images.dtype.kind in "iu" and int(images.min()) >= 0 and int(images.max()) <= 255:
        notices.append(Notice("converted", f"{name} was {images.dtype.name} from 0 to 255 and was read as uint8"))
        return np.ascontiguousarray(images, np.uint8)
    notices.append(Notice("converted", f"{name} was {images.dtype.name} and was read as float32, unscaled"))
    return np.ascontiguousarray(images, np.float32)
