"""The numbers a net is judged by are those of the contract."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from cnet import measures
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights
from tests.unit.cnet.nets import every_type, tensor


def test_npz_bytes_is_the_size_of_numpys_own_file() -> None:
    """One member a tensor under its name, tied tensors once."""
    weights = every_type()
    file = io.BytesIO()
    np.savez_compressed(file, **{t.name: t.data for t in weights if t.name not in weights.copies})

    assert measures.npz_bytes(weights) == len(file.getvalue())


def test_tensors_named_like_parameters_of_numpy_are_counted() -> None:
    """A tensor called ``file`` takes as much as one whose name is as long."""
    nets = [
        Weights((Tensor(name, "float32", tensor("same", "float32", (9, 9)).data),), ())
        for name in ("file", "tile", "allow_pickle", "allow_tickle")
    ]

    one, other, long, longer = map(measures.npz_bytes, nets)
    assert one == other
    assert long == longer


def test_the_vector_is_counted_as_one_float32_array() -> None:
    """The numerator of the paper's ratio, for a float64 net too."""
    vector = np.random.default_rng(0).normal(size=1000)
    file = io.BytesIO()
    np.savez_compressed(file, vector.astype(np.float32))

    assert measures.npz_vector_bytes(np.array_split(vector, 3), len(vector)) == len(file.getvalue())


def test_mse_is_summed_in_float64() -> None:
    """Small differences of many large values are not lost."""
    original = np.full(3_000_000, 1000.0, np.float32)
    decoded = original + np.float32(0.0625)

    assert measures.mse(original, decoded) == pytest.approx(0.0625**2, rel=1e-12)
    assert measures.mse(original[:0], decoded[:0]) == 0


@pytest.mark.parametrize(
    ("labels", "entropy"),
    [([0, 1, 2, 3], 2.0), ([0, 0, 0], 0.0), ([], 0.0), ([0, 0, 0, 1], 2 - 0.75 * math.log2(3))],
)
def test_entropy_is_that_of_the_cluster_populations(labels: list[int], entropy: float) -> None:
    """Minus the sum of p log2 p."""
    symbols = Symbols(np.ones(len(labels), np.bool_), np.array(labels, np.uint8), np.arange(4, dtype=np.float32))

    assert measures.label_entropy(symbols) == pytest.approx(entropy)


def test_values_without_labels_have_no_label_entropy() -> None:
    """Quantizer none has no clusters."""
    assert measures.label_entropy(Symbols(np.ones(1, np.bool_), None, np.float32([1]))) is None
