"""The cheapest path of each lane through a trellis (Viterbi, IEEE Trans. Inf. Theory 13/2, 1967), all lanes at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.coding.trellis import transitions

Costs = npt.NDArray[np.float32]


def cheapest_paths(costs: Costs, memory: int) -> npt.NDArray[np.uint8]:
    """The branch that each lane takes at each step of its path of least total cost, from state 0 to any state.

    Args:
        costs: of the branches 2 * (state & 1) + parity: float32, shape (steps, lanes, 4).
        memory: bits of the state.

    Returns:
        uint8, shape (steps, lanes).
    """
    before, parity = _sources(memory)
    branch = 2 * (before & 1) + parity
    steps, lanes, _ = costs.shape
    total = np.full((lanes, 1 << memory), np.inf, np.float32)
    total[:, 0] = 0
    second = np.empty((steps, lanes, 1 << memory), np.bool_)
    for step in range(steps):
        one = total[:, before[0]] + costs[step][:, branch[0]]
        other = total[:, before[1]] + costs[step][:, branch[1]]
        np.less(other, one, out=second[step])
        total = np.minimum(one, other)
        total -= total.min(axis=1, keepdims=True)  # float32 keeps its precision however long the lane is
    return _traced(np.argmin(total, axis=1), second, before, branch)


def _sources(memory: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The two states that lead to each state, and the parities by which they do: shape (2, states) each."""
    following = transitions(memory)
    order = np.argsort(following.reshape(-1), kind="stable").reshape(-1, 2).T
    return order // 2, order % 2


def _traced(
    state: npt.NDArray[np.int64],
    second: npt.NDArray[np.bool_],
    before: npt.NDArray[np.int64],
    branch: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint8]:
    """The branches of the paths that end in ``state``, shape (steps, lanes), from the last step backwards."""
    lanes = np.arange(len(state))
    path = np.empty(second.shape[:2], np.uint8)
    for step in range(len(second) - 1, -1, -1):
        choice = second[step, lanes, state].astype(np.int64)
        path[step] = branch[choice, state]
        state = before[choice, state]
    return path
