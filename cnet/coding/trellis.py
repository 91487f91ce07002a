"""Trellis-coded quantization: two interleaved grids, and a state machine that says which one the next weight is on.

Magnitudes are multiples of a step size d. In an even state a weight's magnitude is an even multiple of it, 2k d; in an
odd state it is 0 or an odd one, (2k - 1) d. The next state follows from the parity of k. Each weight thus costs the
bits of a grid of step 2d, while the path through the states is chosen so that all weights together come close to the
error of a finer grid: up to 1.3 dB less error for the same bits (Marcellin and Fischer, "Trellis coded quantization of
memoryless and Gauss-Markov sources", IEEE Trans. Commun. 38/1, 1990; Ungerboeck's codes, IEEE Trans. Inf. Theory 28/1,
1982, table I; zero in both grids as in ISO/IEC 15938-17).

A path runs along a lane: some hundred weights that follow each other in w_net. Each lane starts in state 0.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

LANE_WEIGHTS = 288
"""A lane is as many whole neighbourhoods as fit in this many weights, at least one."""

MEMORIES = (2, 3, 4, 5, 6, 7)
"""Possible numbers of bits of the state."""

_CODES = {2: (0o5, 0o2), 3: (0o13, 0o4), 4: (0o23, 0o4), 5: (0o45, 0o10), 6: (0o103, 0o24), 7: (0o235, 0o126)}


def lane_length(positions: int) -> int:
    """Weights of a lane, where a neighbourhood has ``positions`` weights."""
    return max(1, LANE_WEIGHTS // positions) * positions


@cache
def transitions(memory: int) -> npt.NDArray[np.int64]:
    """The next state for each state and parity of k: int64, shape (2^memory, 2). A systematic encoder with feedback."""
    parity_check, information = _CODES[memory]
    states = np.arange(1 << memory)
    odd = (parity_check >> 1) * (states & 1)
    return np.stack([(states >> 1) ^ odd, (states >> 1) ^ odd ^ (information >> 1)], axis=1)


@cache
def branches_to(memory: int) -> npt.NDArray[np.int64]:
    """The two branches, 2 * state + parity of k, that lead to each state: int64, shape (2, states)."""
    return np.argsort(transitions(memory).reshape(-1), kind="stable").reshape(-1, 2).T.copy()


def path_steps(multiples: npt.NDArray[np.integer], memory: int) -> npt.NDArray[np.int32] | None:
    """The k of each weight along its lane's path, or None where no path has these multiples.

    Args:
        multiples: magnitudes in steps, shape (lanes, length), padded with zeros.
        memory: bits of the state.

    Returns:
        int32, shape (lanes, length).
    """
    following = transitions(memory)
    state = np.zeros(len(multiples), np.int64)
    found = np.empty(multiples.shape, np.int32)
    for place in range(multiples.shape[1]):
        column, odd = multiples[:, place], state & 1
        if np.any((column & 1 != odd) & (column > 0)):
            return None
        k = ((column + odd) >> 1) * (column > 0)
        found[:, place] = k
        state = following[state, k & 1]
    return found


def path_multiples(steps: npt.NDArray[np.integer], memory: int) -> npt.NDArray[np.int32]:
    """The inverse of ``path_steps``: magnitudes in steps, int32, shape (lanes, length).

    Args:
        steps: k of each weight, shape (lanes, length).
        memory: bits of the state.
    """
    following = transitions(memory)
    state = np.zeros(len(steps), np.int64)
    found = np.empty(steps.shape, np.int32)
    for place in range(steps.shape[1]):
        column = steps[:, place].astype(np.int64)
        found[:, place] = np.maximum(2 * column - (state & 1), 0) * (column > 0)
        state = following[state, column & 1]
    return found
