"""The built-in digits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cnet.data import DATASETS
from cnet.errors import DatasetError


def test_split_is_by_class_and_always_the_same() -> None:
    """1,438 and 359 images; each class has a fifth of its images in the test split."""
    one, two = (DATASETS.create("digits").load() for _ in range(2))
    assert one.train.input.shape == (1438, 1, 8, 8)
    assert one.test.input.shape == (359, 1, 8, 8)
    assert (one.input_shape, one.classes) == ((1, 8, 8), 10)
    assert DATASETS.create("digits").samples == {"train": len(one.train), "test": len(one.test)}
    assert np.array_equal(one.test.input, two.test.input)
    train, test = np.bincount(one.train.labels), np.bincount(one.test.labels)
    assert np.abs(test / (train + test) - 0.2).max() < 0.005


def test_pixels_use_the_whole_range_of_bytes() -> None:
    """Seventeen grey levels, 0 to 255."""
    data = DATASETS.create("digits").load()
    assert data.train.input.dtype == np.uint8
    assert np.unique(data.train.input).tolist() == [round(level * 255 / 16) for level in range(17)]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(DatasetError, match=r"pip install 'cnet\[train\]'") as caught:
        DATASETS.create("digits").load()
    assert caught.value.code == "unavailable"
