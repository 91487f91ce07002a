"""Samples are split, or splits are joined, and their arrays fit each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cnet.data import Split
from cnet.data.splitting import checked_split, join_splits, split_off_test
from cnet.errors import DatasetError
from cnet.formats import Notice

SPLIT = Split({"a": np.arange(30.0).reshape(10, 3), "b": np.arange(10)}, np.arange(10))


def test_a_split_is_the_same_each_time() -> None:
    """A fifth of the samples is set aside, with all inputs and targets, and a notice says so."""
    notices: list[Notice] = []

    one, other = (split_off_test(SPLIT, notices) for _ in range(2))

    assert (len(one.train), len(one.test)) == (8, 2)
    np.testing.assert_array_equal(one.test.labels, other.test.labels)
    for split in one.splits.values():
        np.testing.assert_array_equal(split.inputs["b"], split.labels)
        np.testing.assert_array_equal(split.inputs["a"][:, 0], 3 * split.labels)
    assert sorted([*one.train.labels, *one.test.labels]) == list(range(10))
    assert {notice.code for notice in notices} == {"split_made"}


def test_samples_without_targets_are_split_too() -> None:
    """For distillation and calibration."""
    dataset = split_off_test(Split.of(np.arange(10)), [])

    assert (len(dataset.train), dataset.train.targets, dataset.test.targets) == (8, None, None)


def test_one_sample_cannot_be_split() -> None:
    """Training and test set need one each."""
    with pytest.raises(DatasetError, match="needs two"):
        split_off_test(Split.of(np.arange(1)), [])


@pytest.mark.parametrize(
    ("split", "code"),
    [
        (Split.of(np.zeros((3, 2)), np.arange(2)), "length_mismatch"),
        (Split({"a": np.zeros(3), "b": np.zeros(2)}), "length_mismatch"),
        (Split.of(np.zeros((0, 2))), "bad_shape"),
    ],
)
def test_arrays_of_different_lengths_are_refused(split: Split, code: str) -> None:
    """And arrays without a sample."""
    with pytest.raises(DatasetError) as refused:
        checked_split(split, "x and y")

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("test", "code"),
    [
        (Split.of(np.zeros((2, 3)), np.arange(2)), "bad_shape"),
        (Split({"a": np.zeros((2, 3)), "b": np.zeros(2, np.int32)}, np.arange(2)), "bad_shape"),
        (Split({"a": np.zeros((2, 4)), "b": np.zeros(2, int)}, np.arange(2)), "bad_shape"),
        (Split({"a": np.zeros((2, 3)), "b": np.zeros(2, int)}, np.zeros(2)), "bad_labels"),
        (Split({"a": np.zeros((2, 3)), "b": np.zeros(2, int)}), "bad_labels"),
    ],
)
def test_splits_that_differ_are_refused(test: Any, code: str) -> None:
    """In names, types or shapes of inputs, or in targets."""
    with pytest.raises(DatasetError) as refused:
        join_splits(SPLIT, test)

    assert refused.value.code == code
