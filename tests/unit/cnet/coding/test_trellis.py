"""The trellis: its states, and paths through it."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.trellis import LANE_WEIGHTS, MEMORIES, lane_length, path_multiples, path_steps, transitions


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_state_is_reached_from_two(memory: int) -> None:
    """By two branches each."""
    assert np.bincount(transitions(memory).reshape(-1)).tolist() == [2] * 2**memory


@pytest.mark.parametrize("memory", MEMORIES)
def test_steps_and_multiples_are_inverse(memory: int) -> None:
    """Any steps are a path; in odd states multiples are odd or 0."""
    steps = np.random.default_rng(memory).integers(0, 5, (7, 60)).astype(np.int32)
    found = path_steps(path_multiples(steps, memory), memory)

    assert found is not None
    np.testing.assert_array_equal(found, steps)


def test_multiples_that_no_path_reaches_give_none() -> None:
    """The first state is even, so that an odd multiple cannot come first."""
    assert path_steps(np.int32([[1, 0]]), 2) is None


def test_lanes_hold_whole_neighbourhoods() -> None:
    """At least one."""
    assert lane_length(9) == LANE_WEIGHTS
    assert lane_length(25) == 275
    assert lane_length(1000) == 1000
