"""The manifest of a data set survives JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cnet.data import Dataset
from cnet.data.dataset_facts import DatasetFacts
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


def test_the_range_of_targets_that_are_numbers_is_kept() -> None:
    """Over all splits, also after JSON; labels have classes in its place."""
    x = np.zeros((2, 3), np.float32)
    values = Dataset.of_arrays(x, np.float32([0.0, 0.5]), x, np.float32([-1.0, 2.0]))

    manifest = DatasetManifest.of(UploadedDataset(values, "npz", ()))

    facts = DatasetFacts.of_manifest(json.loads(manifest.to_json()))
    assert facts.target_limits == (-1.0, 2.0)
    labels = DatasetManifest.of(UploadedDataset(DATASET, "npz", ()))
    assert DatasetFacts.of_manifest(json.loads(labels.to_json())).target_limits is None


def test_a_damaged_manifest_is_refused() -> None:
    """Also an empty document."""
    with pytest.raises(DatasetError, match="Upload the data set again"):
        DatasetManifest.from_json("{}")
