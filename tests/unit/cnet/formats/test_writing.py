"""Tensors to write come in chunks of any size."""

from __future__ import annotations

import io

import numpy as np

from cnet.formats import TensorDescription, TensorsToWrite
from cnet.formats.writing import write_chunks
from cnet.weights import Tensor, Weights


def test_chunks_are_joined_to_weights() -> None:
    """A tensor may come in several chunks, in one, or in none where it is empty."""
    values = np.arange(6, dtype=np.float32)
    rows = [TensorDescription("w", "float32", (2, 3)), TensorDescription("empty", "float32", (0, 3))]
    tensors = TensorsToWrite(rows, lambda name: np.split(values, [1, 4]) if name == "w" else [], [("w", "v")])

    weights = tensors.weights()

    np.testing.assert_array_equal(weights["w"].data, values.reshape(2, 3))
    assert weights["empty"].shape == (0, 3)
    assert (weights.tied, rows[0].nbytes, rows[0].itemsize) == ((("w", "v"),), 24, 4)


def test_weights_are_described_in_order() -> None:
    """With names, types and shapes; the values are the same arrays."""
    weights = Weights.select([Tensor("b", "bfloat16", np.zeros((2, 2), np.uint16)), Tensor("a", "int64", np.array(7))])

    tensors = TensorsToWrite.of(weights)

    assert [row.name for row in tensors.descriptions] == ["b", "a"]
    assert [chunk.tolist() for chunk in tensors.chunks("a")] == [[7]]
    assert tensors.weights()["a"].shape == ()


def test_the_bytes_of_chunks_follow_each_other() -> None:
    """In C order, whatever the order in memory; empty chunks add nothing."""
    file = io.BytesIO()
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)

    write_chunks(file, [array.T, np.empty(0, np.uint8), array[:1]])

    assert file.getvalue() == bytes([0, 3, 1, 4, 2, 5, 0, 1, 2])
