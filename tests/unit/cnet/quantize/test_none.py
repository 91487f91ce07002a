"""Quantizer none: what is kept is kept bit for bit."""

from __future__ import annotations

import numpy as np

from cnet.quantize import QUANTIZERS

NONE = QUANTIZERS.create("none")


def test_negative_zeros_are_preserved() -> None:
    """At sparsity 0 the vector is bit-equal, -0.0 included, and its zeros are counted as zeros."""
    vector = np.array([1.5, -0.0, 0.0, -2.5], np.float32)

    symbols = NONE.symbols(vector, vector != 0, None)

    assert symbols.vector().tobytes() == vector.tobytes()
    assert symbols.sparsity == 0.5
    assert symbols.clusters is None


def test_pruned_values_are_zero() -> None:
    """What the mask drops decodes to 0, what it keeps to itself."""
    vector = np.array([1.5, 0.25, -2.5], np.float64)

    symbols = NONE.symbols(vector, np.array([True, False, True]), None)

    np.testing.assert_array_equal(symbols.vector(), [1.5, 0, -2.5])
    assert symbols.vector().dtype == np.float64


def test_the_quantizer_none_has_one_level_whose_clusters_are_null() -> None:
    """It makes one point per sparsity."""
    assert NONE.cluster_counts() == (None,)
