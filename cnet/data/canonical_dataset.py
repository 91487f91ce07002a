"""The canonical form of data sets, which every uploaded one is rewritten to: a safetensors file.

Its tensors are named ``SPLIT.inputs.NAME`` and ``SPLIT.targets``; each split has the same inputs. A tensor's name keeps
the order of the inputs by a number before it: ``train.inputs.0.x``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cnet.data.dataset import Array, Dataset, Split
from cnet.errors import CheckpointError, DatasetError
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.weights import Tensor, Weights


def write_dataset(path: Path, dataset: Dataset) -> None:
    """Write a data set to ``path``, which is replaced where it exists. The same data give the same bytes."""
    tensors = [
        Tensor(name, values.dtype.name, values)
        for split_name, split in dataset.splits.items()
        for name, values in _named_arrays(split_name, split)
    ]
    write_canonical(path, Weights(tuple(tensors), ()))


def read_dataset(path: Path) -> Dataset:
    """Map what ``write_dataset`` wrote. The arrays are read-only. Raises DatasetError (``corrupt``) and OSError."""
    try:
        arrays = {tensor.name: tensor.data for tensor in read_canonical(path)}
        splits = {name: _split(name, arrays) for name in ("train", "validation", "test")}
        train, test = splits["train"], splits["test"]
    except (CheckpointError, ValueError) as error:
        raise _damaged() from error
    if train is None or test is None:
        raise _damaged()
    return Dataset(train, test, splits["validation"])


def _named_arrays(name: str, split: Split) -> Iterator[tuple[str, Array]]:
    for position, (input_name, values) in enumerate(split.inputs.items()):
        yield f"{name}.inputs.{position}.{input_name}", values
    if split.targets is not None:
        yield f"{name}.targets", split.targets


def _split(name: str, arrays: dict[str, Array]) -> Split | None:
    """The split of this name, or None where the file has none."""
    inputs = {}
    for tensor_name, values in arrays.items():
        if tensor_name.startswith(f"{name}.inputs."):
            position, _, input_name = tensor_name.removeprefix(f"{name}.inputs.").partition(".")
            inputs[int(position)] = (input_name, values)
    if not inputs:
        return None
    return Split(dict(inputs[position] for position in sorted(inputs)), arrays.get(f"{name}.targets"))


def _damaged() -> DatasetError:
    return DatasetError("the stored data set is damaged. Upload the data set again.", code="corrupt")
