"""The cheapest path through a trellis: compared with all paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cnet.coding.trellis import transitions
from cnet.quantize.label_search.viterbi import cheapest_paths


def cost_of(parities: tuple[int, ...], costs: np.ndarray, memory: int) -> float:
    """The cost of the path that takes these branches from state 0."""
    state, total = 0, 0.0
    for step, parity in enumerate(parities):
        total += float(costs[step, 2 * (state & 1) + parity])
        state = int(transitions(memory)[state, parity])
    return total


@pytest.mark.parametrize("memory", [2, 3, 5])
def test_no_path_is_cheaper(memory: int) -> None:
    """Of all 2^9 paths of each lane."""
    costs = np.random.default_rng(memory).random((9, 4, 4)).astype(np.float32)
    branches = cheapest_paths(costs, memory)

    for lane in range(4):
        found = cost_of(tuple(int(branch) & 1 for branch in branches[:, lane]), costs[:, lane], memory)
        paths = itertools.product((0, 1), repeat=9)
        assert found == pytest.approx(min(cost_of(path, costs[:, lane], memory) for path in paths))


def test_branches_are_those_of_the_states() -> None:
    """The first state is even, and each branch leads to the state of the next."""
    branches = cheapest_paths(np.random.default_rng(0).random((50, 3, 4)).astype(np.float32), 4)
    state = np.zeros(3, np.int64)
    for branch in branches:
        np.testing.assert_array_equal(branch >> 1, state & 1)
        state = transitions(4)[state, branch & 1]
