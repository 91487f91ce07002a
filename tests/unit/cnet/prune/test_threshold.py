"""The threshold on magnitudes: exact, whatever the chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.prune import Threshold, magnitude_bits
from cnet.prune._threshold import find_magnitude


def bits_of(values: npt.NDArray[np.float32], cuts: list[int]) -> Iterable[npt.NDArray[np.uint32]]:
    """Magnitudes as integers, in parts."""
    return np.split(np.abs(values).view(np.uint32), sorted(cut % (len(values) + 1) for cut in cuts))


@settings(deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=4),
    st.floats(0, 1),
)
def test_the_threshold_is_that_of_a_partition(numbers: list[float], cuts: list[int], share: float) -> None:
    """As many go as were asked for, all of them at most as large as NumPy's n-th smallest, the first equals first."""
    values = np.array(numbers, np.float32)
    dropped = round(share * len(values))

    def parts() -> Iterator[npt.NDArray[np.uint32]]:
        yield from bits_of(values, cuts)

    keep = np.concatenate(list(Threshold.of(parts, dropped).masks(parts())))

    sizes = np.abs(values)
    if dropped <= np.count_nonzero(values == 0):
        np.testing.assert_array_equal(keep, values != 0)
        return
    bound = np.partition(sizes, dropped - 1)[dropped - 1]
    assert np.count_nonzero(~keep) == dropped
    assert np.all(keep[sizes > bound])
    assert not np.any(keep[sizes < bound])
    ties = keep[sizes == bound]
    assert np.all(np.diff(ties.astype(int)) >= 0)


def test_the_bits_of_magnitudes_are_ordered_as_the_magnitudes() -> None:
    """Signs do not count, zeros of both signs are equal."""
    values = np.float32([-0.0, 1e-45, -2.0, 3e38, -np.inf])

    assert np.all(np.diff(magnitude_bits(values).astype(np.int64)) > 0)
    np.testing.assert_array_equal(magnitude_bits(values), magnitude_bits(-values))


@pytest.mark.parametrize(("rank", "expected", "below"), [(1, 1.0, 0), (2, 2.0, 1), (3, 2.0, 1), (4, 4.0, 3)])
def test_the_magnitude_of_a_rank_is_found(rank: int, expected: float, below: int) -> None:
    """With the number of smaller ones."""
    chunks = [magnitude_bits(np.float32([-2.0, 4.0])), magnitude_bits(np.float32([1.0, 2.0]))]

    bits, smaller = find_magnitude(lambda: chunks, rank)

    assert (np.uint32(bits).view(np.float32), smaller) == (expected, below)
