"""Scaling of inputs on the device: given for all, or for one input by its name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet.data import Dataset, Split
from cnet.errors import SpecError
from cnet.training.config import InputScaling, Preprocess
from cnet.training.device_splits import Inputs, load_splits
from cnet.training.networks.builder import NetworkBuilder, NetworkInput

IMAGES = np.random.default_rng(0).integers(0, 256, (4, 2, 3, 3), np.uint8)
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
TOKENS = np.arange(8).reshape(4, 2)
DATASET = Dataset(*[Split({"image": IMAGES, "table": TABLE, "tokens": TOKENS}, np.zeros(4, np.int64))] * 2)


class ThreeInputs:
    """The network of the test, as far as loading a data set needs it."""

    name = "three inputs"
    fixed_batch = None
    inputs = (
        NetworkInput("image", (2, 3, 3), "float32"),
        NetworkInput("table", (3,), "float32"),
        NetworkInput("tokens", (None,), "int64"),
    )


def scaled(preprocess: Preprocess) -> Inputs:
    """What the network takes in for all samples."""
    network: NetworkBuilder = ThreeInputs()  # type: ignore[assignment]  # it has what is read here
    return load_splits(DATASET, network, preprocess, torch.device("cpu"))["train"].rows(slice(None))


def test_images_are_scaled_and_tables_are_not() -> None:
    """Unless a table is named."""
    image, table, tokens = scaled(Preprocess(mean=(0.5, 0.25), std=(2.0,)))

    expected = (IMAGES / np.float32(255) - np.array([0.5, 0.25], np.float32)[:, None, None]) / 2
    torch.testing.assert_close(image, torch.tensor(expected.astype(np.float32)))
    assert np.array_equal(table, TABLE)
    assert np.array_equal(tokens, TOKENS)


def test_inputs_are_scaled_by_their_names() -> None:
    """A table by its columns; integers that the network takes as such are passed on."""
    own = {"table": InputScaling(mean=(1.0, 2.0, 3.0), std=(1.0, 2.0, 4.0)), "tokens": InputScaling(mean=(9.0,))}
    image, table, tokens = scaled(Preprocess(inputs=own))

    torch.testing.assert_close(image, torch.tensor(IMAGES) / 255)
    assert np.array_equal(table, (TABLE - [1, 2, 3]) / [1, 2, 4])
    assert np.array_equal(tokens, TOKENS)


def test_names_and_numbers_that_do_not_fit_are_refused() -> None:
    """With what the data set has."""
    with pytest.raises(SpecError, match="image, table, tokens"):
        scaled(Preprocess(inputs={"picture": InputScaling()}))
    with pytest.raises(SpecError, match=r"preprocess\.mean: there are 2 values for an input of 3 channels"):
        scaled(Preprocess(inputs={"table": InputScaling(mean=(1.0, 2.0))}))
