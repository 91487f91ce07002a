"""Targets from the arrays of a file: labels of classes, labels of each step, or values of a regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.data.input_arrays import NamedArray, finite_float32
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.contents import MAX_DIMENSIONS

MAX_CLASSES = 100_000
"""The most classes of a data set."""


def check_target_array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array that cannot hold targets, before it is read. Raises DatasetError (``bad_labels``)."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DatasetError(
            f"array {name}: its element type is {dtype.str}, and targets are integer labels, booleans or the "
            "floating-point values of a regression. Convert labels to int64.",
            code="bad_labels",
        )
    if not shape or 0 in shape[1:] or len(shape) > MAX_DIMENSIONS:
        raise DatasetError(
            f"array {name}: its shape is {shape}, and targets have the shape (N,) or, several for each sample, "
            f"(N, ...), with at most {MAX_DIMENSIONS} axes and no empty one. Save them so.",
            code="bad_labels",
        )


def read_targets(y: NamedArray, notices: list[Notice]) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
    """Targets as a training takes them.

    Args:
        y: targets, which ``check_target_array`` accepts.
        notices: gets what the user should know.

    Returns:
        Labels from 0, int64, or values of a regression, float32: of the shape in the file, (n, 1) as (n,) of labels.
        Booleans are labels 0 and 1.

    Raises:
        DatasetError: ``bad_labels``, ``not_finite``.
    """
    if y.values.dtype.kind == "f":
        values = finite_float32(y)
        if values.size and (values == np.rint(values)).all():
            detail = f"{y.name} has floating-point targets, all whole; they were read as numbers, not as labels"
            notices.append(Notice("whole_targets", detail))
        return values
    labels = y.values.reshape(-1) if y.values.shape[1:] == (1,) else y.values
    if labels.size and int(labels.min()) < 0:
        raise DatasetError(
            f"array {y.name}: it has the label {int(labels.min())}. Number the classes from 0, and leave out samples "
            "without a label: no number marks what is to be ignored.",
            code="bad_labels",
        )
    if labels.size and int(labels.max()) >= MAX_CLASSES:
        raise DatasetError(
            f"array {y.name}: its labels are {int(labels.min())} to {int(labels.max())}. "
            f"Number the classes from 0, fewer than {MAX_CLASSES} of them.",
            code="bad_labels",
        )
    if labels.ndim == 2 and labels.dtype.kind != "b" and _is_one_hot(labels):
        raise DatasetError(
            f"array {y.name}: each row of its shape {labels.shape} has a single 1 and zeros, so it is one-hot. "
            "Take argmax(axis=1) of it, or booleans for decisions on their own (task binary).",
            code="bad_labels",
        )
    return np.array(labels, np.int64)


def _is_one_hot(labels: npt.NDArray[np.integer]) -> bool:
    return labels.size > 0 and bool((labels <= 1).all() and (labels.sum(axis=1) == 1).all())
