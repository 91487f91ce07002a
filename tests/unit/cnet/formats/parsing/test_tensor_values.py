"""Statistics of values are exact, and values that cannot be weights are refused."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import CheckpointError
from cnet.formats.parsing.tensor_values import check_finite, value_chunks, value_statistics
from cnet.weights import Tensor


@pytest.mark.parametrize("value", [1e-3, 3e-5])
def test_sums_of_many_small_values_are_exact(value: float) -> None:
    """A sum of as many values in float32 would be wrong in the third digit."""
    values = np.full(5_000_000, value, np.float32)

    statistics = value_statistics(Tensor("w", "float32", values))

    assert statistics.mean == pytest.approx(float(values[0]), rel=1e-14)
    assert statistics.std == pytest.approx(0.0, abs=1e-16)


def test_statistics_beyond_float64_are_none() -> None:
    """JSON has no infinity."""
    statistics = value_statistics(Tensor("w", "float64", np.array([1.7e308, -1.7e308, 1.7e308])))

    assert (statistics.max, statistics.std) == (1.7e308, None)


def test_values_are_widened_chunk_by_chunk() -> None:
    """bfloat16 is stored as bits, and its values are float32."""
    (chunk,) = value_chunks(Tensor("w", "bfloat16", np.array([[0x3F80, 0xC000]], np.uint16)))

    assert (chunk.dtype, chunk.tolist()) == (np.float32, [1.0, -2.0])


def test_the_message_counts_values_that_are_not_finite() -> None:
    """It names the tensor and says what to do."""
    tensor = Tensor("fc.weight", "float32", np.array([np.nan, 1.0, np.inf], np.float32))

    with pytest.raises(CheckpointError, match=r"'fc\.weight': 2 of its 3 values .* Save the checkpoint") as caught:
        check_finite(tensor)

    assert caught.value.code == "not_finite"
