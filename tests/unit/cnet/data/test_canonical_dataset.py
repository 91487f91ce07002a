"""The canonical form of data sets returns the same data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.data import Dataset
from cnet.data.canonical_dataset import read_dataset, write_dataset
from cnet.errors import DatasetError

DATASET = Dataset(
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
    for name in ("x_train", "y_train", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(again, name), getattr(DATASET, name))
        assert getattr(again, name).dtype == getattr(DATASET, name).dtype


def test_a_damaged_canonical_form_is_refused(tmp_path: Path) -> None:
    """A file that was cut off."""
    write_dataset(tmp_path / "one", DATASET)
    (tmp_path / "one").write_bytes((tmp_path / "one").read_bytes()[:-1])

    with pytest.raises(DatasetError, match="Upload the data set again"):
        read_dataset(tmp_path / "one")
