"""The canonical form of data sets returns the same data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.data import Dataset, Split
from cnet.data.canonical_dataset import read_dataset, write_dataset
from cnet.errors import DatasetError

DATASET = Dataset.of_arrays(
    np.arange(240, dtype=np.float32).reshape(8, 1, 6, 5) / 255,
    np.arange(8) % 3,
    np.arange(60, dtype=np.float32).reshape(2, 1, 6, 5) / 255,
    np.arange(2),
)


def test_the_canonical_form_returns_the_data(tmp_path: Path) -> None:
    """The same arrays, and the same bytes each time."""
    write_dataset(tmp_path / "one", DATASET)
    again = read_dataset(tmp_path / "one")
    write_dataset(tmp_path / "two", again)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    _check_equal(again, DATASET)


def test_several_inputs_and_a_validation_split(tmp_path: Path) -> None:
    """Inputs keep their names and their order, whatever the alphabet says; targets may be missing."""
    inputs = {"tokens": np.arange(24).reshape(4, 6), "a.mask": np.ones((4, 6), np.bool_), "x": np.zeros(4, np.float32)}
    train = Split(inputs, np.arange(4, dtype=np.float32))
    dataset = Dataset(train, train.rows(np.array([3, 0])), Split(inputs))
    write_dataset(tmp_path / "one", dataset)

    again = read_dataset(tmp_path / "one")

    _check_equal(again, dataset)
    assert list(again.train.inputs) == ["tokens", "a.mask", "x"]
    assert again.validation is not None
    assert again.validation.targets is None
    assert again.test.targets is not None
    assert again.test.targets.tolist() == [3.0, 0.0]


def _check_equal(one: Dataset, two: Dataset) -> None:
    assert one.splits.keys() == two.splits.keys()
    for name, split in one.splits.items():
        other = two.splits[name]
        assert list(split.inputs) == list(other.inputs)
        for found, expected in zip(split.arrays(), other.arrays(), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def test_a_damaged_canonical_form_is_refused(tmp_path: Path) -> None:
    """A file that was cut off."""
    write_dataset(tmp_path / "one", DATASET)
    (tmp_path / "one").write_bytes((tmp_path / "one").read_bytes()[:-1])

    with pytest.raises(DatasetError, match="Upload the data set again"):
        read_dataset(tmp_path / "one")
