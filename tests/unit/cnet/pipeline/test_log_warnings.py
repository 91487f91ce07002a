"""Warnings about a run that works."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.pipeline import log_warnings
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

NETWORK = Weights.select(
    [Tensor("a", "float32", np.float32([[0, 0], [1, 2]])), Tensor("b", "float32", np.float32([[3, 4]]))]
)


def test_a_network_without_compressible_tensors_is_named_as_such() -> None:
    """Its bundle compresses nothing."""
    biases = Weights.select([Tensor("bias", "float32", np.zeros(3, np.float32))])

    assert [*log_warnings.about_weights(NETWORK)] == []
    [warning] = log_warnings.about_weights(biases)
    assert warning.endswith("Name tensors in compressible.include.")


@pytest.mark.parametrize(
    ("mask", "requested", "words"),
    [
        ([0, 0, 1, 1, 1, 1], 0.5, []),
        ([0, 0, 1, 1, 1, 1], 0.1, ["0.3333 of the weights are zero already"]),
        ([0, 0, 1, 1, 0, 0], 0.6, ["all weights of tensor 'b' to zero"]),
        ([0, 0, 0, 0, 0, 0], 1.0, []),
    ],
)
def test_a_mask_that_a_user_would_not_expect_is_explained(mask: list[int], requested: float, words: list[str]) -> None:
    """More zeros than were asked for, and tensors of which nothing is left unless everything was to go."""
    warnings = [*log_warnings.about_mask(NETWORK, np.array(mask, np.bool_), requested)]

    assert len(warnings) == len(words)
    assert all(word in warning for word, warning in zip(words, warnings, strict=True))


def test_fewer_centroids_than_clusters_are_named() -> None:
    """Where the job asks for a number of clusters at all."""
    symbols = Symbols(np.ones(2, np.bool_), np.uint8([0, 1]), np.float32([1, 2]))

    assert [*log_warnings.about_clusters(symbols, None)] == []
    assert [*log_warnings.about_clusters(symbols, 2)] == []
    [warning] = log_warnings.about_clusters(symbols, 16)
    assert "16 clusters were asked for, but only 2 are used" in warning
