"""The split into training and test samples: as a file has it, or a fifth drawn at random with a fixed seed."""

from __future__ import annotations

import numpy as np

from cnet.data.dataset import Dataset, Split
from cnet.errors import DatasetError
from cnet.formats import Notice

_SEED = 0
_TEST_SHARE = 5  # one sample in five


def checked_split(split: Split, names: str) -> Split:
    """``split``, once all its arrays have the same number of samples.

    Args:
        split: samples.
        names: the names of its arrays in the file, for messages.

    Raises:
        DatasetError: ``length_mismatch``; ``bad_shape`` where there is no sample.
    """
    lengths = [len(values) for values in split.arrays()]
    if len(set(lengths)) > 1:
        raise DatasetError(
            f"arrays {names}: they have {', '.join(map(str, lengths))} samples. Give all the same number.",
            code="length_mismatch",
        )
    if lengths[0] == 0:
        raise DatasetError(f"arrays {names}: they have no sample. Add samples.", code="bad_shape")
    return split


def join_splits(train: Split, test: Split, validation: Split | None = None) -> Dataset:
    """The data set of the splits that a file has.

    Raises:
        DatasetError: ``bad_shape`` where their inputs differ in name, shape or element type, ``bad_labels`` where their
            targets do.
    """
    dataset = Dataset(train, test, validation)
    for name, split in dataset.splits.items():
        if _described_inputs(split) != _described_inputs(train):
            raise DatasetError(
                f"the inputs of train and {name} are {_described_inputs(train)} and {_described_inputs(split)}. "
                "Give both the same names, shapes and element types.",
                code="bad_shape",
            )
        if _described_targets(split) != _described_targets(train):
            raise DatasetError(
                f"the targets of train and {name} are {_described_targets(train)} and {_described_targets(split)}. "
                "Give both the same shape and kind.",
                code="bad_labels",
            )
    return dataset


def split_off_test(samples: Split, notices: list[Notice]) -> Dataset:
    """The data set of samples of which a fifth, drawn with a fixed seed, becomes the test set.

    Args:
        samples: all samples.
        notices: gets how many samples were set aside.

    Raises:
        DatasetError: (``bad_shape``) there are fewer than two samples.
    """
    count = len(samples)
    if count < 2:
        raise DatasetError(
            "data set: it has one sample, and a split into training and test set needs two. Add samples.",
            code="bad_shape",
        )
    test_count = max(1, count // _TEST_SHARE)
    order = np.random.default_rng(_SEED).permutation(count)
    detail = f"there is no test set: {test_count} of {count} samples were set aside by a fixed random split"
    notices.append(Notice("split_made", detail))
    train, test = np.sort(order[test_count:]), np.sort(order[:test_count])
    return Dataset(samples.rows(train), samples.rows(test))


def _described_inputs(split: Split) -> str:
    rows = (f"{name} {_described(values.shape, values.dtype.name)}" for name, values in split.inputs.items())
    return ", ".join(rows)


def _described_targets(split: Split) -> str:
    return "none" if split.targets is None else _described(split.targets.shape, split.targets.dtype.name)


def _described(shape: tuple[int, ...], dtype: str) -> str:
    return f"{'x'.join(map(str, shape[1:])) or 'scalar'} {dtype}"
