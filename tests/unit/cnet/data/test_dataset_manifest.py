"""The manifest of a data set survives JSON."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data import Dataset
from cnet.data.dataset_manifest import DatasetManifest
from cnet.data.dataset_reader import UploadedDataset
from cnet.errors import DatasetError
from cnet.formats import Notice

DATASET = Dataset.of_arrays(
    np.zeros((8, 1, 6, 5), np.float32), np.arange(8) % 3, np.zeros((2, 1, 6, 5), np.float32), np.arange(2)
)


def test_a_manifest_describes_a_data_set() -> None:
    """Sizes, shape, classes and warnings, the same after JSON."""
    uploaded = UploadedDataset(DATASET, "npz", (Notice("split_made", "there is no test set"),))

    manifest = DatasetManifest.of(uploaded)

    assert DatasetManifest.from_json(manifest.to_json()) == manifest
    assert (manifest.splits, manifest.input_shape) == ({"train": 8, "test": 2}, (1, 6, 5))
    assert (manifest.classes, manifest.dtype, manifest.format) == (3, "float32", "npz")
    assert [row.code for row in manifest.warnings] == ["split_made"]


def test_a_damaged_manifest_is_refused() -> None:
    """Also an empty document."""
    with pytest.raises(DatasetError, match="Upload the data set again"):
        DatasetManifest.from_json("{}")
