"""The canonical form of data sets, which every uploaded one is rewritten to: a safetensors file with four arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnet.data.dataset import Dataset
from cnet.errors import CheckpointError, DatasetError
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.weights import Tensor, Weights

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def write_dataset(path: Path, dataset: Dataset) -> None:
    """Write a data set to ``path``, which is replaced where it exists. The same data give the same bytes."""
    tensors = [Tensor(name, getattr(dataset, name).dtype.name, getattr(dataset, name)) for name in _ARRAYS]
    write_canonical(path, Weights(tuple(tensors), ()))


def read_dataset(path: Path) -> Dataset:
    """Map what ``write_dataset`` wrote. The arrays are read-only. Raises DatasetError (``corrupt``) and OSError."""
    try:
        weights = read_canonical(path)
        arrays: dict[str, Any] = {name: weights[name].data for name in _ARRAYS}
    except (CheckpointError, KeyError) as error:
        raise DatasetError("the stored data set is damaged. Upload the data set again.", code="corrupt") from error
    return Dataset(**arrays)
