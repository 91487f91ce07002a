"""Inputs are checked and typed; the channels of images are moved to the front."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data.input_arrays import NamedArray, check_input_array, read_images, read_plain_input
from cnet.errors import DatasetError
from cnet.formats import Notice

IMAGES = np.arange(10 * 3 * 6 * 5).astype(np.uint8).reshape(10, 3, 6, 5)


def test_channels_are_moved_to_the_front() -> None:
    """Of images whose last axis is the only short one; the layout of the file is told."""
    notices: list[Notice] = []

    images, layout = read_images(NamedArray("x", np.moveaxis(IMAGES, 1, 3)), notices)

    np.testing.assert_array_equal(images, IMAGES)
    assert (images.flags.c_contiguous, layout, notices) == (True, "channels_last", [])


def test_images_with_channels_first_keep_their_axes() -> None:
    """Grey images get an axis of channels, without a layout."""
    notices: list[Notice] = []

    assert read_images(NamedArray("x", IMAGES), notices)[1] == "channels_first"
    images, layout = read_images(NamedArray("x", IMAGES[:, 0]), notices)

    assert (images.shape, layout, notices) == ((10, 1, 6, 5), None, [])


@pytest.mark.parametrize(
    ("stored", "read"),
    [("u1", "u1"), ("i4", "i8"), (">u2", "i8"), ("f2", "f4"), (">f8", "f4"), ("?", "?")],
)
def test_other_inputs_keep_their_axes(stored: str, read: str) -> None:
    """Integers become int64 and floating-point numbers float32; bytes and booleans stay."""
    values = np.arange(24).reshape(2, 3, 4) % 2

    assert np.array_equal(read_plain_input(NamedArray("inputs.a", values.astype(stored)), []), values.astype(read))
    assert read_plain_input(NamedArray("inputs.a", values.astype(stored)), []).dtype == read


def test_integers_beyond_int64_are_refused() -> None:
    """They would become negative."""
    with pytest.raises(DatasetError, match="int64 cannot hold"):
        read_plain_input(NamedArray("inputs.a", np.full(3, 2**63, np.uint64)), [])


@pytest.mark.parametrize(("dtype", "shape"), [("c8", (3,)), ("U3", (3,)), ("f4", ()), ("f4", (3, 0)), ("f4", (0, 3))])
def test_arrays_that_cannot_be_inputs_are_refused(dtype: str, shape: tuple[int, ...]) -> None:
    """Their headers are checked before they are read."""
    with pytest.raises(DatasetError) as refused:
        check_input_array("x", np.dtype(dtype), shape)

    assert refused.value.code == "bad_shape"
