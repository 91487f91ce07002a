"""Images and labels are checked, typed and split."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data.labelled_images import NamedArray, join_sets, labelled_images, split_set
from cnet.errors import DatasetError
from cnet.formats import Notice

IMAGES = np.arange(10 * 3 * 6 * 5).astype(np.uint8).reshape(10, 3, 6, 5)
LABELS = np.arange(10)


def test_channels_are_moved_to_the_front() -> None:
    """Of images whose last axis is the only short one."""
    notices: list[Notice] = []

    images, labels = labelled_images(
        NamedArray("x", np.moveaxis(IMAGES, 1, 3)), NamedArray("y", LABELS[:, None]), notices
    )

    np.testing.assert_array_equal(images, IMAGES)
    assert (images.flags.c_contiguous, labels.dtype, labels.shape, notices) == (True, np.int64, (10,), [])


def test_a_split_is_the_same_each_time() -> None:
    """A fifth of the images is set aside, and a notice says so."""
    notices: list[Notice] = []

    one, other = (split_set(IMAGES, LABELS, notices) for _ in range(2))

    assert (len(one.train.input), len(one.test.input)) == (8, 2)
    np.testing.assert_array_equal(one.test.labels, other.test.labels)
    assert sorted([*one.train.labels, *one.test.labels]) == list(range(10))
    assert {notice.code for notice in notices} == {"split_made"}


def test_sets_of_different_images_are_refused() -> None:
    """The message has both shapes and types."""
    with pytest.raises(DatasetError, match=r"3x6x5 uint8 and 3x6x4 float32\. Give both"):
        join_sets((IMAGES, LABELS), (IMAGES[..., :4].astype(np.float32), LABELS))
