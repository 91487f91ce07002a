"""Who competes for being kept: net, layer, column, and the floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cnet.prune import PRUNERS
from cnet.weights import Tensor, Weights

VALUES = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])


def net(*values: npt.NDArray[np.float32]) -> Weights:
    """Weights of these tensors, all compressible."""
    tensors = [Tensor(str(index), "float32", value) for index, value in enumerate(values)]
    return Weights(tuple(tensors), tuple(t.name for t in tensors))


def keep(weights: Weights, sparsity: float, **given: Any) -> list[npt.NDArray[np.bool_]]:
    """The mask by tensors."""
    mask = PRUNERS.create("magnitude", **given).keep(weights, sparsity)
    return [mask[part].reshape(weights[name].shape) for name, part in weights.slices()]


def uneven() -> Weights:
    """A layer of large weights, and one of small ones."""
    rng = np.random.default_rng(1)
    return net(rng.normal(size=(8, 5)).astype(np.float32), 0.01 * rng.normal(size=(4, 3, 2, 2)).astype(np.float32))


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.5, 0.77, 1.0])
def test_each_layer_has_its_own_threshold(sparsity: float) -> None:
    """Exactly round(p n) of each, the smallest."""
    weights = uneven()
    for mask, tensor in zip(keep(weights, sparsity, scope="layer"), weights, strict=True):
        magnitude = np.abs(tensor.values())
        assert np.count_nonzero(~mask) == round(sparsity * mask.size)
        if mask.any() and not mask.all():
            assert magnitude[mask].min() >= magnitude[~mask].max()


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.5, 0.77, 1.0])
def test_each_output_has_its_own_threshold(sparsity: float) -> None:
    """Exactly round(p rows) of each row, the smallest."""
    weights = uneven()
    for mask, tensor in zip(keep(weights, sparsity, scope="column"), weights, strict=True):
        for row, kept in zip(np.abs(tensor.values()).reshape(len(mask), -1), mask.reshape(len(mask), -1), strict=True):
            assert np.count_nonzero(~kept) == round(sparsity * len(kept))
            if kept.any() and not kept.all():
                assert row[kept].min() >= row[~kept].max()


def test_a_floor_prevents_pruning_a_whole_layer() -> None:
    """Without one, the global threshold may do so; the total number of zeros is the same."""
    weights = uneven()
    bare, held = keep(weights, 0.75), keep(weights, 0.75, floor=0.1)
    assert not bare[1].any()
    assert np.count_nonzero(held[1]) == 5  # ten percent of 48, rounded up
    assert sum(map(np.count_nonzero, held)) == sum(map(np.count_nonzero, bare)) == 22
    magnitude = np.abs(weights["1"].values())
    assert magnitude[held[1]].min() >= magnitude[~held[1]].max()


def test_a_floor_yields_where_the_sparsity_leaves_less() -> None:
    """The sparsity is met, and every layer keeps its share of what is left."""
    held = keep(uneven(), 0.9, floor=0.5)
    assert sum(map(np.count_nonzero, held)) == 88 - round(0.9 * 88)
    assert np.count_nonzero(held[0]) >= 4
    assert np.count_nonzero(held[1]) >= 4


@given(
    arrays(np.float32, (4, 6), elements=VALUES),
    arrays(np.float32, (3, 2, 2), elements=VALUES),
    st.floats(0, 1),
    st.sampled_from(["network", "layer", "column"]),
    st.floats(0, 1),
)
def test_exactly_the_requested_number_is_pruned_or_all_zeros(
    one: npt.NDArray[np.float32], two: npt.NDArray[np.float32], sparsity: float, scope: str, floor: float
) -> None:
    """Ties and zeros included: each group ends with max(requested, zeros) pruned weights."""
    weights = net(one, two)
    masks = keep(weights, sparsity, scope=scope, floor=floor)
    shape = {"network": None, "layer": (1, -1), "column": None}[scope]
    groups = [(tensor.values(), mask) for tensor, mask in zip(weights, masks, strict=True)]
    if scope == "network":
        groups = [(weights.vector(), np.concatenate([mask.reshape(-1) for mask in masks]))]
    for values, mask in groups:
        rows = shape or ((len(values), -1) if scope == "column" else (1, -1))
        for row, kept in zip(values.reshape(rows), mask.reshape(rows), strict=True):
            assert not kept[row == 0].any()
            assert np.count_nonzero(~kept) == max(round(sparsity * len(row)), np.count_nonzero(row == 0))


def test_ties_are_broken_by_position_in_every_scope() -> None:
    """Of equal weights the first is pruned first."""
    weights = net(np.ones((2, 4), np.float32))
    assert keep(weights, 0.5)[0].tolist() == [[False] * 4, [True] * 4]
    assert keep(weights, 0.5, scope="layer")[0].tolist() == [[False] * 4, [True] * 4]
    assert keep(weights, 0.5, scope="column")[0].tolist() == [[False, False, True, True]] * 2


def test_a_bias_is_one_column() -> None:
    """A bias is compressible where the user includes it."""
    assert keep(net(np.arange(1, 5, dtype=np.float32)), 0.5, scope="column")[0].tolist() == [False, False, True, True]
