"""Targets are labels, labels of each step, or values of a regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cnet.data.input_arrays import NamedArray
from cnet.data.target_arrays import check_target_array, read_targets
from cnet.errors import DatasetError
from cnet.formats import Notice


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.array([0, 2, 1], np.uint8), np.array([0, 2, 1])),
        (np.array([[0], [2], [1]], ">i4"), np.array([0, 2, 1])),
        (np.array([[0, 2, 2], [1, 1, 0]], np.uint8), np.array([[0, 2, 2], [1, 1, 0]])),
        (np.array([[True], [False]]), np.array([1, 0])),
        (np.eye(2, dtype=bool), np.eye(2, dtype=np.int64)),
        (np.array([[[True, False]], [[False, False]]]), np.array([[[1, 0]], [[0, 0]]])),
        (np.array([0.5, 1.25]), np.array([0.5, 1.25], np.float32)),
        (np.array([[0.5, 1.25], [0.0, 3.0]], np.float16), np.array([[0.5, 1.25], [0.0, 3.0]], np.float32)),
    ],
    ids=["labels", "column", "steps", "booleans", "exclusive", "masks", "values", "vectors"],
)
def test_each_kind_is_read(stored: Any, expected: Any) -> None:
    """With no notice, in int64 or float32."""
    notices: list[Notice] = []

    found = read_targets(NamedArray("y", stored), notices)

    np.testing.assert_array_equal(found, expected, strict=True)
    assert notices == []


def test_whole_floating_point_targets_give_a_warning() -> None:
    """They may be labels that were saved as floating-point numbers by mistake."""
    notices: list[Notice] = []

    assert read_targets(NamedArray("y", np.array([0.0, 3.0])), notices).dtype == np.float32

    assert [notice.code for notice in notices] == ["whole_targets"]


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        (np.array([-1, 2]), "bad_labels"),
        (np.array([100_000]), "bad_labels"),
        (np.eye(4, dtype=int)[[0, 2, 1, 1]], "bad_labels"),
        (np.array([0.5, np.nan]), "not_finite"),
    ],
)
def test_unusable_values_are_refused(stored: Any, code: str) -> None:
    """Labels below 0 or too large, one-hot rows, and NaN."""
    with pytest.raises(DatasetError) as refused:
        read_targets(NamedArray("y", stored), [])

    assert refused.value.code == code


@pytest.mark.parametrize(("dtype", "shape"), [("U3", (3,)), ("c8", (3,)), ("i8", ()), ("i8", (3, 0, 2))])
def test_arrays_that_cannot_be_targets_are_refused(dtype: str, shape: tuple[int, ...]) -> None:
    """Their headers are checked before they are read."""
    with pytest.raises(DatasetError) as refused:
        check_target_array("y", np.dtype(dtype), shape)

    assert refused.value.code == "bad_labels"
