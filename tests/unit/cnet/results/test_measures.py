"""The numbers a net is judged by are those of the contract."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from cnet.results import measures
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
    weights = Weights.select(
        [tensor("a", "float64", (20, 30)), tensor("bias", "float32", (9,)), tensor("b", "bfloat16", (5, 7))]
    )
    file = io.BytesIO()
    np.savez_compressed(file, weights.vector().astype(np.float32))

    assert measures.npz_vector_bytes(weights) == len(file.getvalue())


def test_squared_errors_are_summed_in_float64() -> None:
    """Small differences of many large values are not lost."""
    original = np.full(3_000_000, 1000.0, np.float32)
    decoded = original + np.float32(0.0625)

    assert measures.squared_error(original, decoded) == pytest.approx(3_000_000 * 0.0625**2, rel=1e-12)
    assert measures.squared_error(original[:0], decoded[:0]) == 0


@pytest.mark.parametrize(
    ("populations", "entropy"), [([1, 1, 1, 1], 2.0), ([3], 0.0), ([], 0.0), ([3, 1, 0], 2 - 0.75 * math.log2(3))]
)
def test_entropy_is_that_of_the_populations(populations: list[int], entropy: float) -> None:
    """Minus the sum of p log2 p."""
    assert measures.entropy(np.array(populations, np.int64)) == pytest.approx(entropy)


def test_counts_give_fractions_and_means() -> None:
    """Zeros are counted on the weights, errors on what was compared."""
    counts = measures.WeightCounts(10, 4, 20, 5.0, np.array([2, 0, 2]))

    assert (counts.sparsity, counts.mse, counts.label_entropy, counts.clusters_in_use) == (0.6, 0.25, 1.0, 2)


def test_nothing_counted_gives_zeros_and_none() -> None:
    """A network without weights, and values without labels."""
    counts = measures.WeightCounts(0, 0, 0, 0.0, None)

    assert (counts.sparsity, counts.mse, counts.label_entropy, counts.clusters_in_use) == (0.0, 0.0, None, None)
