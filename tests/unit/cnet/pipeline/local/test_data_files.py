"""Data in memory are written under the names, and in the order, in which a job reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cnet.errors import DatasetError, SpecError
from cnet.pipeline.local.data_files import inputs_file

X = np.zeros((3, 4), np.float32)
Y = np.ones((3, 2), np.int64)


class TwoInputs(nn.Module):
    """A module with arguments that could be inputs and targets, and one that may be left out."""

    def forward(self, x: Tensor, y: Tensor, scale: Tensor | None = None) -> Tensor:
        """The sum of both, shape (n, 4)."""
        result = x + y
        return result if scale is None else result * scale


def names_of(inputs: Any, folder: Path) -> list[str]:
    """The arrays of the file that is written, in their order."""
    with np.load(inputs_file(inputs, TwoInputs(), folder / "x.npz")) as file:
        return list(file)


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        (X, ["x"]),
        ({"x": X}, ["x"]),
        ({"x": X, "y": Y}, ["inputs.x", "inputs.y"]),
        ({"y": Y, "x": X}, ["inputs.x", "inputs.y"]),
        ({"x_train": X, "x_test": X}, ["x_train", "x_test"]),
        ({"inputs.b": X, "inputs.a": X}, ["inputs.b", "inputs.a"]),
    ],
)
def test_arrays_by_the_names_of_arguments_have_their_order(inputs: Any, names: list[str], tmp_path: Path) -> None:
    """Whatever the order of the dictionary; the names of an npz file stay as they are."""
    assert names_of(inputs, tmp_path) == names


@pytest.mark.parametrize("names", [("y", "scale"), ("x", "image"), ("a",)])
def test_other_names_are_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    """Those that forward takes are listed."""
    with pytest.raises(SpecError, match=r"and forward takes x, y, scale\. Name them"):
        names_of(dict.fromkeys(names, X), tmp_path)


def test_what_makes_no_array_is_refused(tmp_path: Path) -> None:
    """Such as two inputs of different shapes in a tuple; the message says how several inputs are given."""
    with pytest.raises(DatasetError, match=r"a dictionary of arrays, by the names of forward's arguments") as caught:
        names_of((torch.zeros(3, 4), torch.zeros(3, 2)), tmp_path)

    assert caught.value.code == "bad_shape"
