"""Symbols: what a mask, labels and centroids mean."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.symbols import Symbols


def test_pruned_weights_are_exactly_zero_and_others_their_centroid() -> None:
    """The vector has the centroids' type and their values where the mask keeps."""
    symbols = Symbols(np.array([True, False, True, True]), np.uint8([1, 0, 1]), np.float32([-0.5, 2.5]))

    assert symbols.vector().tolist() == [2.5, 0.0, -0.5, 2.5]
    assert symbols.vector().dtype == np.float32
    assert (symbols.clusters, symbols.sparsity) == (2, 0.25)


@pytest.mark.parametrize("pruned", [0, 1, 3, 9, 10])
def test_sparsity_is_the_counted_share(pruned: int) -> None:
    """Zeros over all, the same float that the division gives."""
    keep = np.arange(10) >= pruned

    assert Symbols(keep, np.zeros(10 - pruned, np.uint8), np.float32([1])).sparsity == pruned / 10


def test_an_empty_net_has_no_sparsity() -> None:
    """No weights, sparsity 0 and an empty vector."""
    symbols = Symbols(np.zeros(0, np.bool_), np.zeros(0, np.uint8), np.zeros(0, np.float32))

    assert symbols.sparsity == 0
    assert symbols.vector().shape == (0,)
