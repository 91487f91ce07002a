"""Step sizes of rows: groups of values, few bits of mantissa, and multiples of them in the symbols."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.quantize import QUANTIZERS
from cnet.quantize._rows import RowGroups
from cnet.reconstruction import Scales

ROWS = RowGroups(np.int64([3, 1, 2]))
VALUES = np.float32([1, 5, 2, 7, 0.5, 0.25])


def test_rows_are_summed_and_compared_apart() -> None:
    """And a number of a row is one for each of its values."""
    assert ROWS.sums(VALUES).tolist() == [8, 7, 0.75]
    assert ROWS.maxima(VALUES).tolist() == [5, 7, 0.5]
    assert ROWS.repeat(np.int64([9, 8, 7])).tolist() == [9, 9, 9, 8, 7, 7]


def test_no_rows_have_no_sums() -> None:
    """A tensor of which nothing is kept."""
    none = RowGroups(np.empty(0, np.int64))
    assert len(none.sums(VALUES[:0])) == len(none.maxima(VALUES[:0])) == 0


@pytest.mark.parametrize("scale", [1e-38, 1.0, 1e38])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_sizes_have_few_bits_and_finite_multiples(dtype: type, scale: float) -> None:
    """Nine of mantissa at most; each weight is near its value all the same."""
    rng = np.random.default_rng(0)
    vector = (rng.uniform(-1, 1, (40, 50)) * scale * rng.uniform(0.1, 3, (40, 1))).astype(dtype).reshape(-1)
    keep = rng.random(2000) < 0.6
    symbols = QUANTIZERS.create("uniform", bits=4, scope="channel").symbols(vector, keep, 16, [(40, 50)])

    assert isinstance(symbols.reconstruction, Scales)
    mantissas = np.frexp(symbols.reconstruction.factors.astype(np.float64))[0] * 2**9
    if scale == 1.0:
        np.testing.assert_array_equal(mantissas, np.rint(mantissas))
    decoded = symbols.vector()
    assert np.all(np.isfinite(decoded))
    assert np.max(np.abs(decoded - np.where(keep, vector, 0)).astype(np.float64)) < 0.3 * np.max(np.abs(vector))


def test_a_row_that_keeps_nothing_has_a_step_size_of_one() -> None:
    """It multiplies no centroid."""
    keep = np.array([True] * 4 + [False] * 4)
    symbols = QUANTIZERS.create("binary", scope="channel").symbols(np.float32(np.arange(1, 9)), keep, None, [(2, 4)])

    assert isinstance(symbols.reconstruction, Scales)
    assert symbols.reconstruction.factors.tolist() == [2.5, 1.0]
