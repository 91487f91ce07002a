"""Magnitude pruning: exactly as many zeros as asked for, the same ones every time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.prune import PRUNERS
from cnet.weights import Tensor, Weights


def keep(values: npt.ArrayLike, sparsity: float) -> npt.NDArray[np.bool_]:
    """The mask for a net of one float32 row."""
    row = np.asarray(values, np.float32).reshape(1, -1)
    return PRUNERS.create("magnitude").keep(Weights((Tensor("w", "float32", row),), ("w",)), sparsity)


@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 3.5, 1e-38, -3e38]), min_size=1, max_size=40),
    st.floats(0, 1),
)
def test_the_zeros_are_the_rounded_share_or_those_already_zero(values: list[float], sparsity: float) -> None:
    """round(p n) weights are zero afterwards, or those that were zero before where there are more."""
    natural = sum(value == 0 for value in values)

    mask = keep(values, sparsity)

    assert np.count_nonzero(~mask) == max(round(sparsity * len(values)), natural)
    assert not np.any(np.asarray(values)[mask] == 0)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60), st.floats(0, 1))
def test_no_kept_weight_is_smaller_than_a_pruned_one(values: list[float], sparsity: float) -> None:
    """The pruned weights have the smallest magnitudes."""
    mask = keep(values, sparsity)
    sizes = np.abs(np.asarray(values, np.float32))

    assert max(sizes[~mask], default=0) <= min(sizes[mask], default=np.inf)


def test_of_equal_weights_the_first_are_pruned() -> None:
    """Ties are broken by position: 30 of 100 equal weights are exactly the first 30."""
    mask = keep(np.full(100, -0.5), 0.3)

    assert not np.any(mask[:30])
    assert np.all(mask[30:])


@pytest.mark.parametrize(("sparsity", "kept"), [(0.0, 4), (0.5, 2), (0.75, 1), (1.0, 0)])
def test_large_negative_weights_survive(sparsity: float, kept: int) -> None:
    """Magnitude is not the signed value; half a weight rounds to the even number, as Python's round does."""
    mask = keep([-10, 0.1, 0.2, 9], sparsity)

    assert np.count_nonzero(mask) == kept
    assert mask[0] == (sparsity < 1)


def test_an_empty_net_has_an_empty_mask() -> None:
    """Nothing to prune is no error."""
    assert PRUNERS.create("magnitude").keep(Weights((), ()), 0.5).shape == (0,)
